// The page: takes views as they come, and shows each.

const about = JSON.parse(document.getElementById("about").textContent);
const at = (id) => document.getElementById(id);
const LATE = 40;

const seconds = (s) => (s < 120 ? scaled(s * 1e6, LATENCIES) : `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`);
const mib = (x) => (x >= 1024 ? `${three(x / 1024)} GiB/s` : x > 0 ? `${three(x)} MiB/s` : "0 MiB/s");
const paceWords = (pace) => (pace === 1 ? "real time" : pace < 1 ? `${three(1 / pace)} times as slow as real time` : `${three(pace)} times as fast as real time`);

function courseWords(view) {
  const of = view.live ?? view.run;
  const parts = view.live ? [`${seconds(of.clock_s)} on its clock`] : [`${seconds(of.simulated_s)} simulated`];
  if (of.pace === null) parts.push(view.live ? "time jumps from event to event" : "as fast as it goes");
  else parts.push(paceWords(of.pace));
  if (view.live) {
    parts.push(`${count(of.clients)} ${of.clients === 1 ? "client" : "clients"}`);
    if (of.swapping) parts.push("draining for a swap");
    if (of.lag_now_us >= 1000) parts.push(`behind the clock by ${scaled(of.lag_now_us, LATENCIES)}`);
    if (of.fault) parts.push(`failed: ${of.fault}`);
  } else if (of.pace !== null && of.behind_s > of.pace / 2) parts.push("slower, since the simulation takes longer");
  if (of.paused) parts.unshift("paused");
  return parts.join(" · ");
}

function tiles(view) {
  const { over, latency } = view;
  const p99 = (op) => (latency[op] ? scaled(latency[op].p99_us ?? latency[op].max_us, LATENCIES) : NOTHING);
  const which = (op) => (latency[op] && latency[op].p99_us === null ? `slowest ${op}` : `p99 of ${op}s`);
  const emptied = Object.values(view.jobs).reduce((sum, n) => sum + n, 0);
  const rows = [
    [over ? short(Math.round(over.iops)) : NOTHING, "requests/s"],
    [over ? mib(over.read_mib_s) : NOTHING, "read"],
    [over ? mib(over.write_mib_s) : NOTHING, "written"],
    [p99("read"), which("read")],
    [p99("write"), which("write")],
    [view.write_amplification === null ? NOTHING : view.write_amplification.toFixed(2), "WAF"],
    [`${count(view.queue.in_flight)}`, `in flight of ${short(view.queue.slots)}`],
    [`${short(view.free_blocks.total)}`, "free blocks"],
    [count(emptied), emptied === 1 ? "victim block" : "victim blocks", emptied > 0 ? "loud" : ""],
  ];
  at("tiles").replaceChildren(...rows.map(([value, name, kind]) => make("li", { class: kind ?? "" }, make("strong", {}, value), make("span", {}, name))));
}

function latencyTable(view) {
  const heads = ["", "requests", "mean", "p50", "p99", "p99.9", "max"];
  const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", {}, text))));
  const rows = OPS.filter((op) => view.latency[op]).map((op) => {
    const of = view.latency[op];
    const times = ["mean_us", "p50_us", "p99_us", "p99_9_us", "max_us"].map((key) => (of[key] === null ? NOTHING : scaled(of[key], LATENCIES)));
    const name = make("th", {}, make("i", { class: "key", style: `background:${ink(OF_OP[op])}` }), op);
    return make("tr", {}, name, ...[short(of.requests), ...times].map((text) => make("td", {}, text)));
  });
  at("latencies").replaceChildren(head, make("tbody", {}, ...rows));
}

function diesWords(view) {
  const doing = view.dies.doing.filter((one) => one !== null);
  const busy = view.channels.busy.filter(Boolean).length;
  const words = `${doing.length} of ${view.dies.doing.length} dies and ${busy} of ${view.channels.busy.length} channels busy now`;
  const queue = [["queued", "wait to be served"], ["await_buffer", "wait for the write buffer"], ["flushing", "wait for a flush"]];
  const waits = queue.filter(([key]) => view.queue[key] > 0).map(([key, text]) => `${count(view.queue[key])} ${text}`);
  at("dies-words").textContent = [words, `${count(view.queue.operations)} flash operations under way`, ...waits].join("; ");
}

const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const past = [];
let last = null;

// Requests by class of latency: all of them, or those of the last ten seconds.
function classes(view) {
  const now = Object.fromEntries(Object.entries(view.latency).map(([op, of]) => [op, of.classes]));
  if (chosen("span") === "all" || past.length === 0) return now;
  const before = past[0];
  const anew = Object.keys(before).some((op) => !now[op] || now[op].some((n, k) => n < before[op][k]));
  return anew ? now : Object.fromEntries(Object.entries(now).map(([op, list]) => [op, list.map((n, k) => n - (before[op]?.[k] ?? 0))]));
}

function paint(view) {
  paintDies(at("dies"), view);
  paintLatency(at("latency"), classes(view), view.latency_tops_us);
  if (view.map) {
    paintBlocks(at("blocks"), view.map, chosen("view"));
    blocksLegend(at("blocks-legend"), view.map, chosen("view"));
    const { blocks_per_cell: each } = view.map;
    const wear = `${three(view.wear.mean)} P/E cycles on average, ${view.wear.least} to ${view.wear.most}`;
    at("blocks-words").textContent = `${each > 1 ? `${each} blocks a cell` : "a cell a block"}, one plane after the other; ${wear}`;
  } else at("blocks-words").textContent = "this drive has too many planes for a map";
  const holders = Object.keys(view.dies.held_s).map((name) => make("span", {}, make("i", { class: "key", style: `background:${ofHolder(name)}` }), name === "gc" ? "GC" : name));
  const bus = make("span", {}, make("i", { class: "key", style: `background:${ink("--green")}` }), "channel");
  at("dies-legend").replaceChildren(...holders, bus, make("span", { class: "faint" }, "filled: share of the last ¼ s; frame and word: now (R read, W write, E erase)"));
}

function foot(view) {
  if (!view.live) return;
  const server = view.live.server;
  const late = server.reply_late_us;
  const parts = [`${short(Object.values(server.commands).reduce((sum, n) => sum + n, 0))} commands of clients`];
  if (late.p50 !== null) parts.push(`replies ${scaled(late.p50, LATENCIES)} late in the median`);
  if (view.live.swaps.length) {
    const { at_s, changed } = view.live.swaps.at(-1);
    parts.push(`figures since the swap at ${seconds(at_s)}: ${changed.map(({ key, to }) => `${key} = ${valueText(to)}`).join(", ")}`);
  }
  at("foot").textContent = parts.join("; ");
}

const showControls = controls(about);
const overTime = lines(at("series"));

function show(view) {
  last = view;
  const name = view.live ? `${view.drive.name}${view.live.export ? ` – ${view.live.export}` : ""}` : (view.run.title ?? "A run");
  at("title").textContent = name;
  document.title = `${name} – Wordline`;
  at("course").textContent = courseWords(view);
  at("course").className = (view.live ?? view.run).fault ? "alarm" : "";
  tiles(view);
  latencyTable(view);
  diesWords(view);
  overTime.add(view);
  paint(view);
  foot(view);
  showControls(view);
  past.push(Object.fromEntries(Object.entries(view.latency).map(([op, of]) => [op, of.classes])));
  if (past.length > LATE) past.shift();
}

const repaint = () => {
  if (last) {
    paint(last);
    overTime.paint();
    latencyTable(last);
  }
};
DARK.addEventListener("change", repaint);
addEventListener("resize", repaint);
for (const input of document.querySelectorAll('input[type="radio"]')) input.addEventListener("change", repaint);

const AGAIN_MS = 2000;

// Takes views until the server says that it has ended; whenever it is gone without a word, tries again.
function follow() {
  const source = new EventSource(`events${location.search}`);
  source.addEventListener("message", (event) => show(JSON.parse(event.data)));
  source.addEventListener("end", () => {
    source.close();
    at("course").textContent = about.kind === "run" ? "The run has ended." : "The server has ended.";
    for (const button of document.querySelectorAll("button")) button.disabled = true;
  });
  source.addEventListener("error", () => {
    at("course").textContent = "No word from the server; trying again …";
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, AGAIN_MS);
  });
}

follow();
