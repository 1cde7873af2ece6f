// The map of the blocks: that of a report, at one moment.

const LETTERS = { f: "free", s: "spare", o: "open", c: "closed", v: "victim", b: "bad" };

function fieldNow(map) {
  const perPlane = Math.ceil(map.blocks_per_plane / map.blocks_per_cell);
  const valid = Uint8Array.from(atob(map.valid), (letter) => letter.charCodeAt(0));
  const blocks = (cell) => Math.min(map.blocks_per_cell, map.blocks_per_plane - (cell % perPlane) * map.blocks_per_cell);
  return {
    map, perPlane, blocks, cells: map.state.length, moments: 1,
    state: (name, _, cell) => (LETTERS[map.state[cell]] === name ? 255 : 0),
    valid: (_, cell) => valid[cell],
    erases: (_, cell) => map.erases[cell],
    worn: [Math.min(...map.erases), Math.max(...map.erases)],
  };
}

const GAP = 4;

// The largest cells with which all fit into the height, or the smallest there are: planes of a few cells stand side by side, those of
// many are wrapped.
function layoutOf(field, room, most) {
  const planes = field.cells / field.perPlane;
  for (let step = 16; ; step -= 1) {
    const across = Math.max(1, Math.min(field.perPlane, Math.floor(room / step)));
    const lines = Math.ceil(field.perPlane / across);
    const beside = Math.min(planes, Math.max(1, Math.floor((room + GAP) / (across * step + GAP))));
    const tall = lines * step + (lines > 1 ? GAP : 0);
    const height = Math.ceil(planes / beside) * tall;
    if (height <= most || step === 3) return { step, across, beside, tall, height, wide: across * step + GAP };
  }
}

function paintBlocks(canvas, map, view) {
  const field = fieldNow(map);
  const { step, across, beside, tall, height, wide } = layoutOf(field, canvas.clientWidth, 205);
  const { pen } = penFor(canvas, height);
  const colours = looks();
  for (let cell = 0; cell < field.cells; cell += 1) {
    const [plane, block] = [Math.floor(cell / field.perPlane), cell % field.perPlane];
    const x = (plane % beside) * wide + (block % across) * step;
    const y = Math.floor(plane / beside) * tall + Math.floor(block / across) * step;
    paintCell(pen, field, view, colours, 0.12, 0, cell, x, y, step - 1);
  }
}

function blocksLegend(place, map, view) {
  const colours = looks();
  const key = (name, colour, framed = "") => make("span", {}, make("i", { class: `key ${framed}`, style: `background:${colour}` }), name);
  const ramp = (from, to, colour) =>
    make("span", {}, from, make("i", { class: "bar", style: `background:linear-gradient(to right, ${mixed(colours.paper, colour, 0.12)}, ${colour})` }), to);
  const outline = (name, colour) => make("span", {}, make("i", { class: "key", style: `border:2px solid ${colour}` }), name);
  if (view === "state") {
    place.replaceChildren(...["free", "open", "closed", "victim", "bad"].map((name) => key(name, colours[name], "framed")));
    return;
  }
  const [least, most] = [Math.min(...map.erases), Math.max(...map.erases)];
  const scale = view === "wear" ? ramp(`${three(least)} `, `${three(most)} P/E cycles`, colours.worn) : ramp("none valid", "all", colours.valid);
  place.replaceChildren(scale, outline("victim", colours.loud), outline("open", colours.strong), key("free", colours.paper, "framed"));
}
