// The legend of a panel: its series with their looks, and their values in the interval under the cursor.
function swatch(spec, one) {
  if (spec.kind === "stack") return make("span", { class: "key", style: `background: ${one.css}`, "aria-hidden": "true" });
  if (isMap(spec)) {
    const style = `--full: var(${spec.colour}); --pale: ${100 * (spec.pale ?? 0)}%`;
    return make("span", { class: "ramp", style, "aria-hidden": "true" });
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
  const ranges = { heat: ", 0 to 100 %", counts: `, 1 to ${short(spec.most)}` };
  const whole = one.name + (ranges[spec.kind] ?? "");
  const name = make(toggle ? "button" : "span", toggle ? { type: "button", "aria-pressed": String(!one.hidden) } : {}, swatch(spec, one), whole);
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

// A map in an interval: the part under the pointer, and all parts.
function heatWords(spec, n, row) {
  const shares = spec.rows.map((one) => one[n] / 1000);
  const most = shares.indexOf(Math.max(...shares));
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const own = row === null ? "" : `${spec.label} ${row} ${percent(shares[row])}; `;
  return `${own}mean ${percent(mean)}, ${spec.label} ${most} most with ${percent(shares[most])}`;
}

// A map of latencies in an interval: the class under the pointer, and all requests.
function countsWords(spec, n, us) {
  const column = spec.columns[n];
  const requests = (many) => `${count(many)} ${many === 1 ? "request" : "requests"}`;
  const latency = (at) => scaled(spec.edges[at], LATENCIES);
  const whole = column.reduce((sum, many) => sum + many, 0);
  const slowest = whole ? `, the slowest of up to ${latency(column.length)}` : "";
  if (us === null) return requests(whole) + slowest;
  const row = Math.min(spec.edges.length - 2, Math.max(0, spec.edges.findLastIndex((edge) => edge <= us)));
  const place = row === 0 && spec.open ? `up to ${latency(1)}` : `${latency(row)} to ${latency(row + 1)}`;
  return `${requests(column[row] ?? 0)} of ${place}; ${count(whole)} in all${slowest}`;
}
