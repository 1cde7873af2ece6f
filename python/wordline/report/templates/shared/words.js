// Numbers as the rest of the page has them: the same rules as wordline/base/units.py.
const NOTHING = "–";

// Thousands separators: 178,331.
const grouped = (text) => text.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");

// A number with so many digits behind the dot. Halves go to the even digit, as they do in the rest of the page.
function fixed(x, digits) {
  const whole = x * 10 ** digits;
  const half = Number.isInteger(x * 2 ** (digits + 1)) && Math.abs(whole % 1) === 0.5;
  return half ? ((2 * Math.round(whole / 2)) / 10 ** digits).toFixed(digits) : x.toFixed(digits);
}

function three(x) {
  if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : NOTHING;
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(Number(x.toPrecision(3))))));
  return grouped(fixed(x, digits));
}

function scaled(x, steps) {
  const reached = Math.max(Math.abs(x), Math.abs(Number(x.toPrecision(3))));
  const [factor, name] = steps.find((step) => reached >= step[0]) ?? steps.at(-1);
  return `${three(x / factor)} ${name}`;
}

const LATENCIES = [[1e6, "s"], [1e3, "ms"], [1, "µs"], [1e-3, "ns"]];
const THOUSANDS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

const count = (n) => grouped(fixed(n, 0));

function short(n) {
  if (Math.abs(n) >= 10_000) return scaled(n, THOUSANDS);
  return Number.isInteger(n) ? count(n) : three(n);
}

function percent(share) {
  const p = 100 * share;
  if (p === 0) return "0 %";
  if (p < 0.1) return "< 0.1 %";
  if (p < 10) return `${fixed(p, 1)} %`;
  return p >= 99.5 && p < 100 ? "> 99 %" : `${fixed(p, 0)} %`;
}

// A value of a series, by the form of its panel.
function told(value, form, unit) {
  if (value === null || value === undefined) return NOTHING;
  if (form === "latency") return scaled(value, LATENCIES);
  if (form === "count") return count(value);
  const text = form === "ratio" ? three(value) : short(value);
  return unit ? `${text} ${unit}` : text;
}

// A round latency without its zeros, as at a tick: 1 ms.
function roundLatency(us) {
  const [factor, name] = LATENCIES.find((step) => us >= step[0] * 0.9999) ?? LATENCIES.at(-1);
  return `${Number((us / factor).toPrecision(3))} ${name}`;
}

// Decimals needed to distinguish times one step apart.
const digitsOf = (step) => Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
