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

// A row for each plane, wrapped where it is too long.
function paintBlocks(canvas, map, view) {
  const field = fieldNow(map);
  const room = canvas.clientWidth;
  const planes = field.cells / field.perPlane;
  // The largest cells with which all fits in the height.
  let [side, columns] = [3, Math.floor(room / 4)];
  for (let wide = 16; wide >= 4; wide -= 1) {
    const across = Math.max(1, Math.floor(room / wide));
    const each = Math.ceil(field.perPlane / across);
    if (planes * (each * wide + (each > 1 ? 3 : 0)) <= 250) {
      [side, columns] = [wide - 1, across];
      break;
    }
  }
  const each = Math.ceil(field.perPlane / columns);
  const gap = planes > 1 && each > 1 ? 3 : 0;
  const step = side + 1;
  const { pen } = penFor(canvas, planes * (each * step + gap));
  const colours = looks();
  for (let cell = 0; cell < field.cells; cell += 1) {
    const [plane, block] = [Math.floor(cell / field.perPlane), cell % field.perPlane];
    const [x, y] = [(block % columns) * step, plane * (each * step + gap) + Math.floor(block / columns) * step];
    paintCell(pen, field, view, colours, 0.12, 0, cell, x, y, side);
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
