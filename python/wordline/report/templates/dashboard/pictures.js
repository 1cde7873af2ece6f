// Canvases that are as sharp as the screen, and the pictures of dies and of latency.

// The colour of a holder of dies: garbage collection alone is loud.
const HOLDERS = { read: "--blue", write: "--teal", gc: "--gc" };
const ofHolder = (name) => ink(HOLDERS[name] ?? "--plum");

// Whose work it is that a die does now, and what: "gc-erase" is an erase of gc.
function work(doing) {
  const cut = doing.lastIndexOf("-");
  const [task, kind] = cut < 0 ? ["", doing] : [doing.slice(0, cut), doing.slice(cut + 1)];
  return { holder: task === "" || task === "host" ? kind : task, kind };
}

// A pen for a canvas of a height, in CSS pixels; its width is that of its place.
function penFor(canvas, height) {
  const [width, scale] = [canvas.clientWidth, devicePixelRatio];
  const size = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  pen.textBaseline = "middle";
  return { pen, width, height };
}

const LABEL = 44;

// Channels in columns of rows, each with its bus and its dies. A die fills from below by what held it lately; its frame and its word
// say what it does now.
function paintDies(canvas, view) {
  const { channels, dies_per_channel: perChannel } = view.shape;
  const room = canvas.clientWidth;
  const [bus, least, most, between] = [26, 15, 110, 16];
  const needed = LABEL + bus + perChannel * (least + 3) + between;
  const columns = Math.max(1, Math.min(Math.ceil(channels / 4), Math.floor(room / needed)));
  const wide = (room - between * (columns - 1)) / columns;
  const line = Math.min(perChannel, Math.max(1, Math.floor((wide - LABEL - bus) / (least + 3))));
  const side = Math.min(most, Math.floor((wide - LABEL - bus) / line) - 3);
  const lines = Math.ceil(perChannel / line);
  const rows = Math.ceil(channels / columns);
  // All of them in sight, as long as they can be read.
  const high = Math.max(17, Math.min(34, Math.floor((225 / rows - 5) / lines) - 3));
  const tall = lines * (high + 3) + 5;
  const { pen } = penFor(canvas, rows * tall);
  const [edge, strong, used, card] = ["--faint", "--ink", "--green", "--card"].map(ink);
  const holders = Object.keys(view.dies.held_s);
  for (let channel = 0; channel < channels; channel += 1) {
    const [x, y] = [(channel % columns) * (wide + between), Math.floor(channel / columns) * tall];
    pen.fillStyle = edge;
    pen.textAlign = "left";
    pen.fillText(`ch ${channel}`, x, y + high / 2 + 1);
    const share = view.over?.channels[channel] ?? 0;
    pen.fillStyle = card;
    pen.fillRect(x + LABEL, y, 14, high);
    pen.fillStyle = used;
    pen.fillRect(x + LABEL, y + high * (1 - share), 14, high * share);
    const now = view.channels.busy[channel];
    frame(pen, now ? used : edge, now ? 2 : 1, x + LABEL, y, 14, high);
    for (let n = 0; n < perChannel; n += 1) {
      const die = channel * perChannel + n;
      const [left, top] = [x + LABEL + bus + (n % line) * (side + 3), y + Math.floor(n / line) * (high + 3)];
      pen.fillStyle = card;
      pen.fillRect(left, top, side, high);
      let from = top + high;
      for (const holder of holders) {
        const part = high * (view.over?.dies[holder][die] ?? 0);
        pen.fillStyle = ofHolder(holder);
        pen.fillRect(left, from - part, side, part);
        from -= part;
      }
      const doing = view.dies.doing[die];
      if (doing === null) {
        frame(pen, edge, 1, left, top, side, high);
        continue;
      }
      const { holder, kind } = work(doing);
      frame(pen, ofHolder(holder), 2.5, left, top, side, high);
      const word = side >= 60 ? (holder === kind ? kind : `${holder === "gc" ? "GC" : holder} ${kind}`) : kind[0].toUpperCase();
      pen.textAlign = "center";
      pen.lineWidth = 3;
      pen.lineJoin = "round";
      pen.strokeStyle = ink("--paper");
      pen.strokeText(word, left + side / 2, top + high / 2 + 1, side - 6);
      pen.fillStyle = strong;
      pen.fillText(word, left + side / 2, top + high / 2 + 1, side - 6);
    }
  }
}

function frame(pen, colour, line, x, y, width, height) {
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
}

const OPS = ["read", "write", "trim", "flush"];
const OF_OP = { read: "--blue", write: "--teal", trim: "--plum", flush: "--lilac" };

// The distribution of latency: for each operation a row of bars, classes of a quarter octave on a scale of octaves.
function paintLatency(canvas, rows, tops) {
  const present = OPS.filter((op) => rows[op]?.some((n) => n > 0));
  const { pen, width, height } = penFor(canvas, 128);
  const [axis, text] = [ink("--grid"), ink("--faint")];
  pen.fillStyle = text;
  if (present.length === 0) {
    pen.fillText("no request completed", 0, height / 2);
    return;
  }
  const filled = present.flatMap((op) => rows[op].map((n, at) => (n > 0 ? at : -1)).filter((at) => at >= 0));
  const first = Math.max(0, Math.min(...filled) - 2);
  const last = Math.min(tops.length - 1, Math.max(...filled, first + 24) + 1);
  const wide = width / (last - first + 1);
  const high = (height - 18) / present.length;
  present.forEach((op, row) => {
    const bottom = (row + 1) * high;
    const most = Math.max(...rows[op]);
    pen.fillStyle = ink(OF_OP[op]);
    for (let at = first; at <= last; at += 1) {
      if (!rows[op][at]) continue;
      // A single slow request must be seen.
      const tall = Math.max(2, (high - 6) * (rows[op][at] / most));
      pen.fillRect((at - first) * wide, bottom - tall, Math.max(1, wide - 1), tall);
    }
    pen.fillStyle = axis;
    pen.fillRect(0, bottom, width, 1);
  });
  pen.fillStyle = text;
  pen.textAlign = "center";
  // Ticks at decades: a class is a quarter octave, linear within.
  for (let us = 1e-2; us < 1e7; us *= 10) {
    const at = tops.findIndex((top) => top >= us);
    if (at < first || at > last) continue;
    const [low, top] = [at > 0 ? tops[at - 1] : 0, tops[at]];
    const x = (at - first + (us - low) / (top - low)) * wide;
    if (x < 22 || x > width - 22) continue;
    pen.fillStyle = axis;
    pen.fillRect(x, 0, 1, height - 18);
    pen.fillStyle = text;
    pen.fillText(roundLatency(us), x, height - 7);
  }
}
