// Sentences on the blocks: the cell under the pointer, and all blocks at a moment.
const SAID = { free: "erased", spare: "held back", open: "open", closed: "closed", victim: "being collected", bad: "bad" };

const EXACT = 255;

const cycles = (mean) => `${Number.isInteger(mean) ? count(mean) : three(mean)} P/E ${mean === 1 ? "cycle" : "cycles"}`;

// A cell by its place: numbers are those of the drive, as in tables.
function placeWords(field, cell) {
  const { map, perPlane } = field;
  const plane = Math.floor(cell / perPlane);
  const die = Math.floor(plane / map.planes_per_die);
  const first = plane * map.blocks_per_plane + (cell % perPlane) * map.blocks_per_cell;
  const last = first + field.blocks(cell) - 1;
  const blocks = first === last ? `block ${first}` : `blocks ${first} to ${last}`;
  return `channel ${Math.floor(die / map.dies_per_channel)}, die ${die}, plane ${plane}, ${blocks}`;
}

// The number of blocks of a cell in a state; exact unless there are too many for the share.
const countOf = (field, name, moment, cell) => Math.round((field.state(name, moment, cell) * field.blocks(cell)) / 255);

function stateWords(field, moment, cell) {
  const there = STATES.filter((name) => field.state(name, moment, cell) > 0);
  if (there.length === 1) return field.blocks(cell) === 1 ? SAID[there[0]] : `all ${SAID[there[0]]}`;
  const amount = (name) =>
    field.blocks(cell) <= EXACT ? count(countOf(field, name, moment, cell)) : percent(field.state(name, moment, cell) / 255);
  return there.map((name) => `${amount(name)} ${SAID[name]}`).join(", ");
}

function cellWords(field, moment, cell) {
  const many = field.blocks(cell) > 1;
  const share = percent(field.valid(moment, cell) / 255);
  const mean = `${cycles(field.erases(moment, cell))}${many ? " on average" : ""}`;
  return `${placeWords(field, cell)}: ${share} valid, ${mean}, ${stateWords(field, moment, cell)}`;
}

// All blocks at a moment. Counts are told where they are exact.
function wholeWords(field, moment) {
  const { map, cells } = field;
  let [valid, worn, blocks] = [0, 0, 0];
  const states = Object.fromEntries(STATES.map((name) => [name, 0]));
  for (let cell = 0; cell < cells; cell += 1) {
    const own = field.blocks(cell);
    blocks += own;
    valid += own * field.valid(moment, cell);
    worn += own * field.erases(moment, cell);
    for (const name of STATES) {
      states[name] += map.blocks_per_cell <= EXACT ? countOf(field, name, moment, cell) : (own * field.state(name, moment, cell)) / 255;
    }
  }
  const amount = (name) => (map.blocks_per_cell <= EXACT ? count(states[name]) : percent(states[name] / blocks));
  const there = STATES.filter((name) => states[name] > 0);
  const list = there.map((name, n) => `${amount(name)}${n || map.blocks_per_cell > EXACT ? "" : states[name] === 1 ? " block" : " blocks"} ${SAID[name]}`);
  return `${list.join(", ")}; ${percent(valid / blocks / 255)} of the flash holds valid data; ${three(worn / blocks)} P/E cycles on average.`;
}
