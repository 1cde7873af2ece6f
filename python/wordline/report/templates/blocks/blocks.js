// The blocks of the drive over the run, with a slider of time. Without this script, and on paper, a picture of the end is shown.
const VIEWS = { valid: "valid data", wear: "P/E cycles", state: "state" };
const FRAME_MS = 250;

function blocksOver(room, told, field) {
  const { map } = told;
  const canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": "The blocks of the drive. Arrow keys select one.", "aria-describedby": "block-words" });
  const pen = canvas.getContext("2d");
  const play = make("button", { type: "button" }, "Play");
  const slider = make("input", { type: "range", min: 0, max: field.moments - 1, step: 1, value: field.moments - 1, "aria-label": "Moment of the run" });
  const time = make("output", { class: "time" });
  const whole = make("p", { class: "faint whole" });
  const words = make("p", { id: "block-words", class: "words", "aria-live": "polite" });
  const views = Object.entries(VIEWS).map(([view, name]) => {
    const choice = make("input", { type: "radio", name: "blocks-view", value: view });
    choice.checked = view === "valid";
    return make("label", {}, choice, ` ${name}`);
  });
  const legend = make("ul", { class: "legend" });
  const bar = make("div", { class: "playing" }, play, slider, time);
  const intro = make("p", { class: "faint" }, told.words);
  room.replaceChildren(intro, make("fieldset", { class: "views" }, make("legend", {}, "Colours show"), ...views), bar, canvas, legend, words, whole);

  let [view, moment, chosen, timer, colours, form, side, margin] = ["valid", field.moments - 1, null, null, looks(), null, 1, 0];

  const seconds = () => {
    const digits = digitsOf(told.end / 1000);
    return `${map.at_s[moment].toFixed(digits)} s`;
  };

  function fit() {
    const width = Math.max(200, room.clientWidth);
    form = placesOf(field, told.layouts[width < 560 ? "narrow" : "wide"], told.gaps);
    const named = told.layouts[width < 560 ? "narrow" : "wide"][0] === 1;
    margin = named ? 78 : 0;
    const ratio = devicePixelRatio;
    // Whole pixels of the screen, so that cells are equal and sharp.
    side = Math.max(1, Math.floor(Math.min((width - margin) / form.width, told.largest) * ratio)) / ratio;
    canvas.style.width = `${Math.ceil(margin + form.width * side)}px`;
    canvas.style.height = `${Math.ceil(form.height * side)}px`;
    canvas.width = Math.ceil(margin + form.width * side) * ratio;
    canvas.height = Math.ceil(form.height * side) * ratio;
    paint();
  }

  const corner = (cell) => form.places[cell].map((at, n) => at * side + (n ? 0 : margin));

  function paint() {
    const ratio = devicePixelRatio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const gap = side >= 4 ? 1 : 0;
    for (let cell = 0; cell < field.cells; cell += 1) {
      const [x, y] = corner(cell).map((at) => Math.round(at * ratio) / ratio);
      paintCell(pen, field, view, colours, told.pale, moment, cell, x, y, side - gap);
    }
    if (margin) nameRows();
    if (chosen !== null) {
      const [x, y] = corner(chosen);
      pen.strokeStyle = colours.strong;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, side + 2 - gap, side + 2 - gap);
    }
  }

  function nameRows() {
    pen.fillStyle = colours.strong;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    const own = field.cells / map.channels;
    let below = -Infinity;
    for (let channel = 0; channel < map.channels; channel += 1) {
      const top = corner(channel * own)[1];
      const bottom = Math.max(...Array.from({ length: own }, (_, n) => corner(channel * own + n)[1])) + side;
      const middle = (top + bottom) / 2;
      if (middle < below + 15) continue;
      below = middle;
      pen.fillText(`channel ${channel}`, 0, middle);
    }
  }

  function tell() {
    time.textContent = `${seconds()} of ${told.end.toFixed(digitsOf(told.end / 1000))} s`;
    slider.value = moment;
    slider.setAttribute("aria-valuetext", seconds());
    whole.textContent = `At ${seconds()}: ${wholeWords(field, moment)}`;
    words.textContent = chosen === null ? "Point at a cell to see its blocks." : cellWords(field, moment, chosen);
  }

  function name() {
    const mark = (style, text) => make("li", {}, make("span", { class: "cell", style }), text);
    const ramp = (colour, from, to) =>
      make("li", {}, `${from} `, make("span", { class: "bar", style: `background: linear-gradient(to right, ${mixed(colours.paper, colour, told.pale)}, ${colour})` }), ` ${to}`);
    const occurs = (state) => STATES.includes(state) && (state === "closed" || map.states[state]);
    const frames = [
      ...(occurs("free") ? [mark(`border: 1px solid ${colours.edge}`, map.blocks_per_cell > 1 ? "all erased" : SAID.free)] : []),
      ...(occurs("open") ? [mark(`border: 2px solid ${colours.strong}`, map.blocks_per_cell > 1 ? "has an open block" : SAID.open)] : []),
      ...(occurs("victim") ? [mark(`border: 3px solid ${colours.loud}`, map.blocks_per_cell > 1 ? "has one being collected" : SAID.victim)] : []),
    ];
    if (view === "state") {
      legend.replaceChildren(...STATES.filter(occurs).map((state) => mark(`background: ${colours[state]}; border: 1px solid ${colours.edge}`, SAID[state])));
    } else if (view === "wear") {
      legend.replaceChildren(ramp(colours.worn, cycles(field.worn[0]), cycles(field.worn[1])), ...frames);
    } else {
      const bad = occurs("bad") ? [mark(`background: ${colours.bad}`, SAID.bad)] : [];
      legend.replaceChildren(ramp(colours.valid, "0 %", "100 % valid"), ...frames, ...bad);
    }
  }

  function go(to) {
    moment = Math.min(field.moments - 1, Math.max(0, to));
    paint();
    tell();
  }

  function choose(cell) {
    if (cell === chosen) return;
    chosen = cell;
    paint();
    tell();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    if (moment === field.moments - 1) go(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      go(moment + 1);
      if (moment === field.moments - 1) stop();
    }, FRAME_MS);
  });
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  for (const one of views) {
    one.addEventListener("change", () => {
      view = one.firstChild.value;
      name();
      paint();
    });
  }

  function cellAt(x, y) {
    const found = form.places.findIndex((_, cell) => {
      const [left, top] = corner(cell);
      return x >= left && x < left + side && y >= top && y < top + side;
    });
    return found < 0 ? null : found;
  }

  for (const type of ["pointermove", "pointerdown"]) {
    canvas.addEventListener(type, (event) => {
      const box = canvas.getBoundingClientRect();
      choose(cellAt(event.clientX - box.left, event.clientY - box.top));
    });
  }
  canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && choose(null));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") choose(null);
    else if (step) choose(chosen === null ? 0 : neighbour(...step));
    else return;
    event.preventDefault();
  });

  // The nearest cell in a direction, across the gaps between planes, dies and channels.
  function neighbour(right, down) {
    const [x, y] = form.places[chosen];
    let [best, least] = [chosen, Infinity];
    form.places.forEach(([otherX, otherY], cell) => {
      const along = right * (otherX - x) + down * (otherY - y);
      const aside = Math.abs(down * (otherX - x)) + Math.abs(right * (otherY - y));
      if (along > 0.5 && aside < 0.5 * along + 0.5 && along + 2 * aside < least) [best, least] = [cell, along + 2 * aside];
    });
    return best;
  }

  DARK.addEventListener("change", () => {
    colours = looks();
    name();
    paint();
  });
  play.disabled = slider.disabled = field.moments < 2;
  room.closest("figure").classList.add("live");
  new ResizeObserver(fit).observe(room);
  fit();
  name();
  tell();
}

{
  const data = document.getElementById("blocks-data");
  if (data) {
    const told = JSON.parse(data.textContent);
    blocksOver(document.querySelector("[data-blocks]"), told, await fieldOf(told));
  }
}
