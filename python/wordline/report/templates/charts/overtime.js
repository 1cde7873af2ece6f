// Charts over simulated time, with one cursor and one zoom, in the place of the static figures. Without this script, and on
// paper, those are shown.
function overTime(room, data) {
  const bar = room.querySelector(".zoom");
  const whole = [0, data.end];
  // Zoom stops at one interval.
  const least = Math.min(data.end, Math.max(data.end / 10000, Math.min(...data.grids.map((grid) => grid.step))));
  const shared = { grids: data.grids, end: data.end, from: 0, to: data.end, pointed: null, reset: () => show(...whole), chosen, rescale };
  const places = [...room.querySelectorAll("[data-chart]")].filter((place) => data.figures[place.dataset.chart]);
  let panels = [];

  function draw() {
    for (const panel of panels) panel.plot.destroy();
    panels = places.flatMap((place) => {
      const specs = data.figures[place.dataset.chart];
      const figure = place.closest("figure");
      place.replaceChildren();
      figure.classList.add("live");
      try {
        return specs.map((_, n) => panelOf(specs, n, place, shared));
      } catch (error) {
        // The static figure is better than half a chart.
        figure.classList.remove("live");
        throw error;
      }
    });
  }

  // Rescales the axes to the visible part.
  function rescale() {
    for (const { plot } of panels) plot.setScale("x", { min: shared.from, max: shared.to });
  }

  function chosen(from, to) {
    if (from !== shared.from || to !== shared.to) show(from, to);
  }

  function show(from, to) {
    if (Number.isFinite(from) && Number.isFinite(to)) {
      const length = Math.min(data.end, Math.max(least, to - from));
      shared.from = Math.min(Math.max(0, from), data.end - length);
      shared.to = Math.min(data.end, shared.from + length);
    }
    for (const { plot } of panels) {
      const { min, max } = plot.scales.x;
      if (min !== shared.from || max !== shared.to) plot.setScale("x", { min: shared.from, max: shared.to });
    }
    tell();
  }

  const text = (seconds) => `${Number(seconds.toFixed(digitsOf((shared.to - shared.from) / 100)))}`;

  function tell() {
    const isWhole = shared.from <= 0 && shared.to >= data.end;
    bar.classList.toggle("held", !isWhole);
    for (const button of bar.querySelectorAll("[data-part]")) button.disabled = isWhole;
    const [start, stop] = bar.querySelectorAll("input");
    start.value = text(shared.from);
    stop.value = text(shared.to);
    bar.querySelector("output").textContent = isWhole
      ? "Whole run. Drag across a figure to zoom all figures. Double-click to show the whole run again."
      : `From ${text(shared.from)} s to ${text(shared.to)} s, of ${Number(data.end.toPrecision(4))} s.`;
  }

  // The cursor of a figure by keys: an interval of its first panel further.
  function step(place, direction) {
    const own = panels.find((panel) => place.contains(panel.plot.root));
    const { plot } = own;
    const width = plot.over.clientWidth;
    const times = plot.data[0];
    const first = times.findIndex((time) => time >= shared.from);
    const last = times.findLastIndex((time) => time <= shared.to);
    if (first < 0 || last < first) return;
    const now = plot.cursor.left >= 0 ? plot.valToIdx(plot.posToVal(plot.cursor.left, "x")) + direction : direction > 0 ? first : last;
    const n = Math.min(last, Math.max(first, now));
    shared.pointed = null;
    for (const { legend } of panels) legend.root.setAttribute("aria-live", place.contains(legend.root) ? "polite" : "off");
    const left = Math.min(width, Math.max(0, plot.valToPos(times[n], "x")));
    plot.setCursor({ left, top: plot.over.clientHeight / 2 }, true, true);
  }

  const scaledBy = (factor) => {
    const [middle, half] = [(shared.from + shared.to) / 2, ((shared.to - shared.from) * factor) / 2];
    show(middle - half, middle + half);
  };
  const moved = (share) => {
    const by = share * (shared.to - shared.from);
    show(shared.from + by, shared.to + by);
  };
  const actions = {
    in: () => scaledBy(0.5),
    out: () => scaledBy(2),
    left: () => moved(-0.25),
    right: () => moved(0.25),
    reset: shared.reset,
  };
  const keys = { "+": "in", "=": "in", "-": "out", 0: "reset", Escape: "reset" };

  bar.addEventListener("click", (event) => actions[event.target.closest("button")?.dataset.do]?.());
  bar.addEventListener("change", () => {
    const ends = [...bar.querySelectorAll("input")].map((input) => Number.parseFloat(input.value));
    show(Math.min(...ends), Math.max(...ends));
  });
  room.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    const place = event.target.closest("[data-chart]");
    const arrow = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (arrow && (event.shiftKey || !place)) moved(0.25 * arrow);
    else if (arrow) step(place, arrow);
    else if (keys[event.key]) actions[keys[event.key]]();
    else return;
    event.preventDefault();
  });

  draw();
  for (const place of places) {
    place.tabIndex = 0;
    place.setAttribute("aria-describedby", "zoom-keys");
    new ResizeObserver(() => panels.filter((panel) => place.contains(panel.plot.root)).forEach((panel) => panel.resize())).observe(place);
  }
  DARK.addEventListener("change", draw);
  bar.hidden = false;
  tell();
}

const found = document.getElementById("over-time-data");
if (found) overTime(document.querySelector(".zooms"), JSON.parse(found.textContent));
