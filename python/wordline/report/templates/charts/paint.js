// Painting by interval: stacked areas, and maps of parts. uPlot draws the lines.
// A colour with its hatch, whose size on the screen does not depend on zoom.
function hatched(context, colour, hatch) {
  const solid = ink(colour);
  if (!hatch) return solid;
  const ratio = uPlot.pxRatio;
  const side = Math.round(6 * ratio);
  const tile = document.createElement("canvas");
  tile.width = tile.height = side;
  const pen = tile.getContext("2d");
  pen.fillStyle = solid;
  pen.fillRect(0, 0, side, side);
  pen.strokeStyle = pen.fillStyle = ink("--paper");
  pen.lineWidth = ratio;
  if (hatch === "..") {
    pen.beginPath();
    pen.arc(side / 2, side / 2, 0.95 * ratio, 0, 2 * Math.PI);
    pen.fill();
  } else {
    for (const shift of [-side, 0, side]) {
      pen.beginPath();
      pen.moveTo(shift - ratio, side + ratio);
      pen.lineTo(shift + side + ratio, -ratio);
      if (hatch === "xx") {
        pen.moveTo(shift - ratio, -ratio);
        pen.lineTo(shift + side + ratio, side + ratio);
      }
      pen.stroke();
    }
  }
  return context.createPattern(tile, "repeat");
}

// Calls back for every visible interval, with its edges in pixels of the canvas.
function eachInterval(plot, grid, end, paint) {
  const { min, max } = plot.scales.x;
  grid.starts.forEach((start, n) => {
    const stop = Math.min(start + grid.step, end);
    if (stop < min || start > max) return;
    const left = Math.round(plot.valToPos(Math.max(start, min), "x", true));
    const right = Math.round(plot.valToPos(Math.min(stop, max), "x", true));
    paint(n, left, Math.max(1, right - left));
  });
}

function inPlot(plot, paint) {
  const { left, top, width, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.beginPath();
  plot.ctx.rect(left, top, width, height);
  plot.ctx.clip();
  paint(plot.ctx);
  plot.ctx.restore();
}

function paintStack(plot, spec, grid, end) {
  inPlot(plot, (context) => {
    const fills = spec.series.map((one) => hatched(context, one.colour, one.hatch));
    const level = (share) => Math.round(plot.valToPos(share, "y", true));
    eachInterval(plot, grid, end, (n, left, width) => {
      let floor = 0;
      spec.series.forEach((one, row) => {
        const share = one.values[n];
        if (!share) return;
        const [low, high] = [level(floor), level(floor + share)];
        context.fillStyle = fills[row];
        context.fillRect(left, high, width, low - high);
        floor += share;
      });
    });
  });
}

// Fills a cell with a strength of 0 to 1; 0 is the page itself.
function fillCell(context, share, left, top, width, height) {
  context.globalAlpha = Math.min(1, share);
  context.fillRect(left, top, width, Math.max(1, height));
}

function paintHeat(plot, spec, grid, end) {
  inPlot(plot, (context) => {
    context.fillStyle = ink(spec.colour);
    const edges = spec.rows.map((_, row) => Math.round(plot.valToPos(row - 0.5, "y", true)));
    edges.push(Math.round(plot.valToPos(spec.rows.length - 0.5, "y", true)));
    eachInterval(plot, grid, end, (n, left, width) => {
      spec.rows.forEach((shares, row) => {
        if (shares[n]) fillCell(context, shares[n] / 1000, left, edges[row], width, edges[row + 1] - edges[row]);
      });
    });
  });
}

// Requests by class of latency, on a logarithmic scale from pale for a single one.
function paintCounts(plot, spec, grid, end) {
  inPlot(plot, (context) => {
    context.fillStyle = ink(spec.colour);
    const levels = spec.edges.map((us) => Math.round(plot.valToPos(us, "y", true)));
    const strength = (many) => spec.pale + (1 - spec.pale) * (spec.most > 1 ? Math.log(many) / Math.log(spec.most) : 1);
    eachInterval(plot, grid, end, (n, left, width) => {
      spec.columns[n].forEach((many, row) => {
        if (many) fillCell(context, strength(many), left, levels[row + 1], width, levels[row] - levels[row + 1]);
      });
    });
  });
}

function paintRule(plot, value) {
  inPlot(plot, (context) => {
    context.strokeStyle = ink("--faint");
    context.lineWidth = uPlot.pxRatio;
    const level = Math.round(plot.valToPos(value, "y", true)) + 0.5;
    context.beginPath();
    context.moveTo(plot.bbox.left, level);
    context.lineTo(plot.bbox.left + plot.bbox.width, level);
    context.stroke();
  });
}
