const isMap = (spec) => spec.kind === "heat" || spec.kind === "classes";

// The legend of a panel: its series with their looks, and their values in the interval under the cursor.
function swatch(spec, one) {
  if (spec.kind === "stack") return make("span", { class: "key", style: `background: ${one.css}`, "aria-hidden": "true" });
  if (isMap(spec)) {
    const least = spec.kind === "heat" ? 0 : 100 * spec.least;
    return make("span", { class: "ramp", style: `--full: ${spec.colour}; --least: ${least}%`, "aria-hidden": "true" });
  }
  const drawn = (name, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const look = { stroke: `var(${one.colour})`, "stroke-width": 2, "stroke-dasharray": one.dash.join(" ") };
  const sample = drawn("svg", { viewBox: "0 0 24 8", width: 24, height: 8 }, drawn("path", { d: "M0 4H24", ...look }));
  return make("span", { class: "sample", "aria-hidden": "true" }, sample);
}

// One entry: lines can be switched off and on, so theirs are buttons.
function entry(spec, one, toggle) {
  const value = make("span", { class: "value" });
  const scales = { heat: ", 0 to 100 %", classes: spec.most > 1 ? `, 1 to ${count(spec.most)}` : ", 1" };
  const whole = `${one.name}${scales[spec.kind] ?? ""}`;
  const name = make(toggle ? "button" : "span", toggle ? { type: "button", "aria-pressed": "true" } : {}, swatch(spec, one), whole);
  if (toggle) {
    name.title = "Hide or show";
    name.addEventListener("click", () => {
      const shown = name.getAttribute("aria-pressed") !== "true";
      name.setAttribute("aria-pressed", String(shown));
      toggle(shown);
    });
  }
  return { root: make("li", {}, name, " ", value), value };
}

// A row of entries, the first of them the interval. `show` takes its words and a text for each series.
function legendOf(spec, toggles) {
  const series = isMap(spec) ? [spec] : spec.series;
  const entries = series.map((one, n) => entry(spec, one, toggles?.[n]));
  const when = make("li", { class: "when" });
  const root = make("ul", { class: `legend ${isMap(spec) ? "map" : spec.kind}` }, ...entries.map((one) => one.root), when);
  const show = (interval, texts) => {
    when.textContent = interval;
    entries.forEach((one, n) => {
      one.value.textContent = texts[n] ?? "";
    });
  };
  return { root, show };
}

// The number of the interval that holds a time, or -1.
function intervalAt(grid, end, time) {
  if (!(time >= 0) || time > end) return -1;
  let [low, high] = [0, grid.starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (grid.starts[middle] <= time) low = middle + 1;
    else high = middle;
  }
  const n = low - 1;
  return n >= 0 && time <= grid.starts[n] + grid.step ? n : -1;
}

function intervalWords(grid, end, n) {
  const digits = digitsOf(grid.step / 10);
  const text = (seconds) => `${Number(seconds.toFixed(digits))}`;
  return `${text(grid.starts[n])} to ${text(Math.min(grid.starts[n] + grid.step, end))} s`;
}

// What a map of parts says of an interval: the part at the height of the pointer, and all of them.
function heatWords(spec, n, at) {
  const shares = spec.rows.map((one) => one[n] / 1000);
  const row = at === null ? null : Math.min(shares.length - 1, Math.max(0, Math.round(at)));
  const most = shares.indexOf(Math.max(...shares));
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const own = row === null ? "" : `${spec.label} ${row} ${percent(shares[row])}; `;
  return `${own}mean ${percent(mean)}, ${spec.label} ${most} most with ${percent(shares[most])}`;
}

// What a map of latencies says of an interval: the class at the height of the pointer, and all of them.
function classWords(spec, n, at) {
  const column = spec.columns[n];
  const all = column.reduce((sum, requests) => sum + requests, 0);
  if (!all) return `no ${spec.name}`;
  const last = spec.edges.length - 2;
  const between = (row) => {
    const [from, to] = [spec.edges[row], spec.edges[row + 1]].map((edge) => scaled(edge, LATENCIES));
    if (row === 0 && spec.open[0]) return `up to ${to}`;
    return row === last && spec.open[1] ? `${from} or more` : `${from} to ${to}`;
  };
  const slowest = `${count(all)} in all, slowest ${between(column.findLastIndex((requests) => requests > 0))}`;
  if (at === null) return slowest;
  const row = Math.min(last, Math.max(0, spec.edges.findIndex((edge) => edge > at) - 1));
  return `${count(column[row] ?? 0)} of ${between(row)}; ${slowest}`;
}
