// The blocks of the drive as a field of cells: unpacked from the result, laid out, and painted.

// Bytes that the engine packed: each the difference from the same cell in the moment before.
async function unpacked(text, moments, cells) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  if (data.length !== moments * cells) throw new Error("the map of the blocks is inconsistent");
  for (let at = cells; at < data.length; at += 1) data[at] += data[at - cells];
  return data;
}

const STATES = ["free", "spare", "open", "closed", "victim", "bad"];

// The data of each cell at each moment.
async function fieldOf(told) {
  const { map } = told;
  const perPlane = Math.ceil(map.blocks_per_plane / map.blocks_per_cell);
  const planes = map.channels * map.dies_per_channel * map.planes_per_die;
  const [cells, moments] = [planes * perPlane, map.at_s.length];
  const names = STATES.filter((name) => map.states[name]);
  const every = [map.valid, map.erases.data, ...names.map((name) => map.states[name])];
  const [valid, worn, ...shares] = await Promise.all(every.map((text) => unpacked(text, moments, cells)));
  const states = new Map(names.map((name, n) => [name, shares[n]]));
  const blocks = (cell) => Math.min(map.blocks_per_cell, map.blocks_per_plane - (cell % perPlane) * map.blocks_per_cell);
  const state = (name, moment, cell) => {
    const at = moment * cells + cell;
    if (name !== "closed") return states.get(name)?.[at] ?? 0;
    return Math.max(0, 255 - names.reduce((sum, other) => sum + states.get(other)[at], 0));
  };
  return {
    map, cells, moments, perPlane, blocks, state,
    valid: (moment, cell) => valid[moment * cells + cell],
    erases: (moment, cell) => map.erases.least + map.erases.step * worn[moment * cells + cell],
    worn: [map.erases.least, map.erases.least + map.erases.step * worn.reduce((most, one) => Math.max(most, one), 0)],
  };
}

// The place of each cell, in sides of a cell, and the size of the whole: the rule of wordline/report/blockfigure.py.
function placesOf(field, columns, gaps) {
  const { map, perPlane, cells } = field;
  const counts = [perPlane, map.planes_per_die, map.dies_per_channel, map.channels];
  const side = [...columns].reverse();
  let [width, height] = [1, 1];
  const steps = counts.map((count, level) => {
    const step = [width + gaps[level], height + gaps[level]];
    width = Math.min(count, side[level]) * step[0] - gaps[level];
    height = Math.ceil(count / side[level]) * step[1] - gaps[level];
    return step;
  });
  const places = Array.from({ length: cells }, (_, cell) => {
    let [x, y, rest] = [0, 0, cell];
    counts.forEach((count, level) => {
      const n = rest % count;
      rest = (rest - n) / count;
      x += (n % side[level]) * steps[level][0];
      y += Math.floor(n / side[level]) * steps[level][1];
    });
    return [x, y];
  });
  return { places, width, height };
}

// A mix of two colours by a share.
function mixed(from, to, share) {
  const parts = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const [first, last] = [parts(from), parts(to)];
  return `rgb(${first.map((part, n) => Math.round(part + share * (last[n] - part))).join(" ")})`;
}

// The page's colours of the field, by meaning.
function looks() {
  const [paper, edge, strong] = [ink("--paper"), ink("--faint"), ink("--ink")];
  const loud = ink("--gc");
  const closed = mixed(paper, ink("--blue"), 0.75);
  return { paper, edge, strong, loud, valid: ink("--blue"), worn: ink("--green"), free: paper, spare: ink("--grid"), open: strong, closed, victim: loud, bad: edge };
}

// One cell of a view, `side` pixels wide, at a moment.
function paintCell(pen, field, view, colours, pale, moment, cell, x, y, side) {
  const share = (name) => field.state(name, moment, cell) / 255;
  const ramp = (to, part) => mixed(colours.paper, to, pale + (1 - pale) * part);
  const empty = share("free") === 1 || share("spare") === 1;
  if (view === "state") {
    let top = 0;
    for (const name of STATES) {
      const height = side * share(name);
      pen.fillStyle = colours[name];
      pen.fillRect(x, y + top, side, height);
      top += height;
    }
  } else if (view === "wear") {
    const [least, most] = field.worn;
    pen.fillStyle = ramp(colours.worn, most > least ? (field.erases(moment, cell) - least) / (most - least) : 0);
    pen.fillRect(x, y, side, side);
  } else if (!empty) {
    pen.fillStyle = share("bad") === 1 ? colours.bad : ramp(colours.valid, field.valid(moment, cell) / 255);
    pen.fillRect(x, y, side, side);
  }
  const frame = (colour, wide) => {
    pen.strokeStyle = colour;
    pen.lineWidth = wide;
    pen.strokeRect(x + wide / 2, y + wide / 2, side - wide, side - wide);
  };
  const thin = Math.max(1, Math.round(side / 12));
  if (empty) frame(colours.edge, thin);
  if (view !== "state" && share("victim") > 0) frame(colours.loud, 2 * thin);
  else if (view !== "state" && share("open") > 0) frame(colours.strong, thin);
}
