// One panel: uPlot with its scales, axes and cursor for lines, stacked areas or maps.
const AXIS = { wide: 74, narrow: 68 };
const HEIGHTS = { alone: 200, lines: 150, stack: 150, heat: 130, counts: 150 };
const PAINTERS = { stack: paintStack, heat: paintHeat, counts: paintCounts };
const TIME_AXIS = 42;
const SYNC = "wordline-over-time";

// The values of a panel in the form of uPlot. Lines of different intervals share one list of times, with holes.
function columns(spec, grids, end) {
  const middles = grids.map((grid) => grid.starts.map((start) => (start + Math.min(start + grid.step, end)) / 2));
  if (spec.kind !== "lines") {
    const rows = spec.kind === "stack" ? spec.series.length : 1;
    const times = middles[spec.grid];
    return { data: [times, ...Array.from({ length: rows }, () => times.map(() => null))], alone: [] };
  }
  const used = [...new Set(spec.series.map((one) => one.grid))];
  const data = used.length === 1
    ? [middles[used[0]], ...spec.series.map((one) => one.values)]
    : uPlot.join(spec.series.map((one) => [middles[one.grid], one.values]));
  const places = new Map(data[0].map((time, n) => [time, n]));
  const isAlone = (values, n) => values[n] !== null && (values[n - 1] ?? null) === null && (values[n + 1] ?? null) === null;
  const alone = spec.series.map((one) =>
    one.values.flatMap((_, n) => (isAlone(one.values, n) ? [places.get(middles[one.grid][n])] : [])),
  );
  return { data, alone };
}

const isMap = (spec) => spec.kind === "heat" || spec.kind === "counts";

// The span of the axis: from the least to the largest visible value.
function span(spec, least, most) {
  if (spec.kind === "stack") return [0, 1];
  if (spec.kind === "heat") return [-0.5, spec.rows.length - 0.5];
  if (spec.kind === "counts") return [spec.edges[0], spec.edges.at(-1)];
  if (spec.form === "latency") return least > 0 ? [least / 1.2, most * 1.2] : [1, 10];
  if (spec.form === "ratio") return least === null ? [0.98, 1.1] : [Math.min(1, least) - 0.02, Math.max(1.1, most + 0.1 * (most - 1))];
  return [0, most > 0 ? most * 1.08 : 1];
}

// The least and the largest of several panels between two intervals.
function spanOfAll(specs, [first, last]) {
  const shown = specs.flatMap((spec) => spec.series.filter((one) => !one.hidden));
  const values = shown.flatMap((one) => one.values.slice(first, last + 1)).filter((value) => value > 0);
  return values.length ? [Math.min(...values), Math.max(...values)] : [null, null];
}

function latencyTicks(least, most) {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const inner = last - first <= 2 ? [1, 2, 5] : [1];
  const every = Array.from({ length: last - first + 1 }, (_, n) => first + n).flatMap((e) => inner.map((m) => m * 10 ** e));
  const shown = every.filter((us) => us >= least && us <= most);
  if (shown.length > 1) return shown;
  // Less than one such step is visible: even steps, two to five of them.
  const step = ROUND.find((one) => (most - least) / one <= 5);
  const from = Math.ceil(least / step);
  return Array.from({ length: Math.floor(most / step) - from + 1 }, (_, n) => (from + n) * step);
}

const ROUND = Array.from({ length: 24 }, (_, n) => n - 12).flatMap((e) => [1, 2, 5].map((m) => Number(`${m}e${e}`)));

// Whole numbers only: of dies, channels and blocks.
const WHOLE = ROUND.filter(Number.isInteger);

function valueAxis(spec, narrow, font) {
  const axis = {
    scale: "y", label: spec.label, labelSize: 18, labelGap: 0, labelFont: font, font, gap: 4, space: 28,
    size: (narrow ? AXIS.narrow : AXIS.wide) - 18,
    stroke: () => ink("--ink"),
    grid: { show: !isMap(spec), stroke: () => ink("--grid"), width: 1 },
    ticks: { stroke: () => ink("--grid"), width: 1, size: 4 },
  };
  const texts = {
    latency: roundLatency,
    count: short,
    ratio: (value) => `${Number(value.toPrecision(4))}`,
    rate: (value) => (value >= 1e4 ? `${grouped(`${Number((value / 1e3).toPrecision(4))}`)} k` : grouped(`${Number(value.toPrecision(4))}`)),
  };
  const text = spec.kind === "stack" ? (share) => `${Math.round(100 * share)} %` : (texts[spec.form] ?? String);
  axis.values = (_, ticks) => ticks.map((tick) => (tick === null ? "" : text(tick)));
  if (spec.form === "latency") axis.splits = (plot, _, least, most) => latencyTicks(least, most);
  if (spec.kind === "heat" || spec.form === "count") axis.incrs = WHOLE;
  return axis;
}

function timeAxis(lowest, font) {
  return {
    scale: "x", font, labelFont: font, gap: 4, space: 70, labelSize: 18, labelGap: 0,
    label: lowest ? "simulated time (s)" : null,
    incrs: ROUND,
    size: lowest ? TIME_AXIS - 18 : 8,
    stroke: () => ink("--ink"),
    grid: { stroke: () => ink("--grid"), width: 1 },
    ticks: { stroke: () => ink("--grid"), width: 1, size: 4 },
    values: (_, ticks, __, ___, step) =>
      ticks.map((tick) => (lowest && tick !== null ? tick.toFixed(digitsOf(step)) : "")),
  };
}

// A panel at the end of `room`, the n-th of `specs`. `shared` is what all panels share: intervals, the end of the run, what is
// shown of it, and what to do when a reader chooses a part, hides a line or moves the cursor.
function panelOf(specs, n, room, shared) {
  const [spec, lowest, only] = [specs[n], n === specs.length - 1, specs.length === 1];
  const { grids, end } = shared;
  const grid = spec.kind === "lines" ? null : grids[spec.grid];
  const { data, alone } = columns(spec, grids, end);
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const width = () => Math.max(200, room.clientWidth);
  const height = (spec.kind === "lines" && only ? HEIGHTS.alone : HEIGHTS[spec.kind]) + (lowest ? TIME_AXIS : 8);
  const drawn = data.slice(1).map((_, n) => {
    if (spec.kind !== "lines") return { paths: () => null, points: { show: false } };
    const { colour, dash, hidden } = spec.series[n];
    const look = { stroke: () => ink(colour), width: 1.6, dash, show: !hidden };
    // Dots for isolated points, and everywhere once the points are far apart.
    const points = { size: 5, width: 1, fill: () => ink(colour), filter: (_, __, many) => (many ? null : alone[n]) };
    return { ...look, points: { ...points, space: 14 } };
  });
  const plot = new uPlot(
    {
      width: width(),
      height,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      series: [{}, ...drawn],
      scales: {
        x: { time: false, min: shared.from, max: shared.to },
        y: {
          distr: spec.form === "latency" ? 3 : 1,
          dir: spec.kind === "heat" ? -1 : 1,
          range: (u, least, most) => span(spec, ...(spec.common ? spanOfAll(specs, u.series[0].idxs) : [least, most])),
        },
      },
      axes: [timeAxis(lowest, font), valueAxis(spec, width() < 500, font)],
      cursor: {
        y: false,
        points: { show: spec.kind === "lines", size: 7 },
        drag: { x: true, y: false, dist: 4 },
        bind: { dblclick: () => () => shared.reset() },
        // The cursor is shared; what is chosen goes through `shared`, so that all panels show exactly the same.
        sync: { key: SYNC, scales: ["x", null], filters: { sub: (type) => type === "mousemove" } },
      },
      hooks: {
        drawAxes: [
          (u) => {
            PAINTERS[spec.kind]?.(u, spec, grid, end);
            if (spec.rule !== undefined) paintRule(u, spec.rule);
          },
        ],
        setScale: [(u, key) => key === "x" && shared.chosen(u.scales.x.min, u.scales.x.max)],
        setCursor: [(u) => tell(u)],
      },
    },
    data,
    room,
  );

  const toggles = spec.kind === "lines" && spec.series.length > 1
    ? spec.series.map((one, n) => (shown) => {
        one.hidden = !shown;
        plot.setSeries(n + 1, { show: shown });
        if (spec.common) shared.rescale();
      })
    : null;
  const legend = legendOf(spec, toggles);
  room.append(legend.root);

  function tell(u) {
    const time = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : NaN;
    const own = grid ?? grids[spec.series[0].grid];
    const n = intervalAt(own, end, time);
    if (Number.isNaN(time)) return legend.show("", []);
    const when = n < 0 ? "" : intervalWords(own, end, n);
    if (spec.kind === "heat") {
      const under = shared.pointed === u && u.cursor.top >= 0;
      const row = under ? Math.min(spec.rows.length - 1, Math.max(0, Math.round(u.posToVal(u.cursor.top, "y")))) : null;
      return legend.show(when, [n < 0 ? NOTHING : heatWords(spec, n, row)]);
    }
    if (spec.kind === "counts") {
      const under = shared.pointed === u && u.cursor.top >= 0;
      return legend.show(when, [n < 0 ? NOTHING : countsWords(spec, n, under ? u.posToVal(u.cursor.top, "y") : null)]);
    }
    if (spec.kind === "stack") {
      const value = (one) => (n < 0 || one.values[n] === null ? NOTHING : percent(one.values[n]));
      return legend.show(when, spec.series.map(value));
    }
    const value = (one) => told(one.values[intervalAt(grids[one.grid], end, time)], spec.form, spec.unit);
    return legend.show(when, spec.series.map(value));
  }

  plot.over.addEventListener("mousemove", () => (shared.pointed = plot), { capture: true });
  byTouch(plot.over);
  return { plot, legend, resize: () => plot.setSize({ width: width(), height }) };
}

// A finger moving sideways acts like a mouse; up and down it scrolls the page.
function byTouch(over) {
  const as = (type, event) => {
    const at = { clientX: event.clientX, clientY: event.clientY, movementX: 1, button: 0, bubbles: true };
    (type === "mouseup" ? document : over).dispatchEvent(new MouseEvent(type, at));
  };
  const types = { pointerdown: "mousedown", pointermove: "mousemove", pointerup: "mouseup", pointercancel: "mouseleave" };
  for (const [type, mouse] of Object.entries(types)) {
    over.addEventListener(type, (event) => {
      if (event.pointerType !== "touch") return;
      if (type === "pointerdown") as("mousemove", event);
      as(mouse, event);
    });
  }
}
