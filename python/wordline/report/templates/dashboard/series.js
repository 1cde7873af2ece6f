// Figures over the last two minutes, as lines; a gap where there is no figure.

const MOST = 480;

const SERIES = [
  { name: "requests/s", of: (view) => view.over?.iops, form: (x) => short(Math.round(x)), colour: "--blue", zero: true },
  { name: "write amplification", of: (view) => view.over?.write_amplification, form: three, colour: "--ink", zero: false },
  { name: "free blocks", of: (view) => view.free_blocks.total, form: count, colour: "--teal", zero: true },
  { name: "victim blocks", of: (view) => Object.values(view.jobs).reduce((sum, n) => sum + n, 0), form: count, colour: "--gc", zero: true },
];

function lines(place) {
  const kept = SERIES.map(() => []);
  const parts = SERIES.map(({ name }) => {
    const value = make("strong");
    const canvas = make("canvas", { role: "img", "aria-label": `${name} over the last two minutes` });
    place.append(make("div", { class: "serie" }, make("span", { class: "faint" }, name), value, canvas));
    return { value, canvas };
  });
  function paint() {
    SERIES.forEach(({ form, colour, zero }, n) => {
      const [values, { value, canvas }] = [kept[n], parts[n]];
      const known = values.filter((x) => x !== null);
      value.textContent = known.length ? form(values.at(-1) ?? known.at(-1)) : NOTHING;
      const { pen, width, height } = penFor(canvas, 42);
      pen.fillStyle = ink("--grid");
      pen.fillRect(0, height - 1, width, 1);
      if (known.length === 0) return;
      const [least, most] = [zero ? 0 : Math.min(...known, 1), Math.max(...known)];
      const place = (x) => height - 2 - (height - 6) * ((x - least) / Math.max(most - least, 1e-9));
      pen.strokeStyle = ink(colour);
      pen.lineWidth = 1.5;
      pen.beginPath();
      let drawn = false;
      values.forEach((x, at) => {
        const left = width - (values.length - 1 - at) * (width / (MOST - 1));
        if (x !== null) drawn ? pen.lineTo(left, place(x)) : pen.moveTo(left, place(x));
        drawn = x !== null;
      });
      pen.stroke();
      pen.fillStyle = ink("--faint");
      pen.textAlign = "left";
      pen.fillText(`most ${form(most)}`, 0, 7);
    });
  }
  return {
    paint,
    add(view) {
      SERIES.forEach(({ of }, n) => {
        kept[n].push(of(view) ?? null);
        if (kept[n].length > MOST) kept[n].shift();
      });
      paint();
    },
  };
}
