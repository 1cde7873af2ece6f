// Linked zoom of all figures over simulated time. Without it, and in print, they show the whole run.
(() => {
  "use strict";
  const room = document.querySelector(".zooms");
  const bar = document.querySelector(".zoom");
  if (!room || !bar) return;
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // An axis of time: where it lies in its drawing, what of the run it spans, and the layers that move.
  const axes = [...room.querySelectorAll("g.time")].map((group, n) => {
    const [x0, y0, x1, y1] = group.dataset.box.split(" ").map(Number);
    const [first, last] = group.dataset.span.split(" ").map(Number);
    const svg = group.ownerSVGElement;
    const clip = make("clipPath", { id: `zoom-${n}` });
    clip.append(make("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0 }));
    group.append(clip);
    const layers = [...group.querySelectorAll("g.data")].map((data) => {
      // The clipping of a layer would be stretched with it: a frame around it clips instead.
      for (const part of [data, ...data.querySelectorAll("[clip-path]")]) part.removeAttribute("clip-path");
      const frame = make("g", { "clip-path": `url(#zoom-${n})` });
      data.replaceWith(frame);
      frame.append(data);
      return data;
    });
    const ticks = make("g", { "aria-hidden": "true" });
    group.prepend(ticks);
    // Catches the pointer over empty parts, too.
    group.prepend(make("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, fill: "transparent" }));
    const lowest = [...svg.querySelectorAll("g.time")].every((other) => Number(other.dataset.box.split(" ")[3]) <= y1 + 1);
    return { group, svg, layers, ticks, x0, y0, x1, y1, first, last, lowest };
  });
  if (!axes.length) return;
  const whole = [axes[0].first, Math.max(...axes.map((axis) => axis.last))];
  const least = (whole[1] - whole[0]) / 10000;
  let shown = [...whole];

  const digits = (step) => Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const text = (seconds) => `${Number(seconds.toFixed(digits((shown[1] - shown[0]) / 100)))}`;

  function drawTicks(axis) {
    axis.ticks.replaceChildren();
    const [from, to] = shown;
    const rough = (to - from) / (axis.x1 - axis.x0 < 350 ? 4 : 8);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    for (let n = Math.ceil(from / step); n * step <= to * (1 + 1e-12); n += 1) {
      const x = axis.x0 + ((n * step - from) / (to - from)) * (axis.x1 - axis.x0);
      axis.ticks.append(make("line", { class: "tick", x1: x, x2: x, y1: axis.y0, y2: axis.y1 }));
      if (axis.lowest) {
        const name = make("text", { class: "tick-name", x, y: axis.y1 + 14 });
        name.textContent = (n * step).toFixed(digits(step));
        axis.ticks.append(name);
      }
    }
  }

  function nameAxis(axis) {
    if (!axis.lowest) return;
    const name = make("text", { class: "tick-name", x: (axis.x0 + axis.x1) / 2, y: axis.y1 + 29 });
    name.textContent = "simulated time (s)";
    axis.ticks.append(name);
  }

  function draw() {
    const [from, to] = shown;
    const isWhole = from <= whole[0] && to >= whole[1];
    for (const axis of axes) {
      axis.group.classList.toggle("zoomed", !isWhole);
      axis.ticks.replaceChildren();
      const scale = (axis.last - axis.first) / (to - from);
      const start = axis.x0 + ((from - axis.first) / (axis.last - axis.first)) * (axis.x1 - axis.x0);
      for (const layer of axis.layers) {
        if (isWhole) layer.removeAttribute("transform");
        else layer.setAttribute("transform", `translate(${axis.x0 - start * scale} 0) scale(${scale} 1)`);
        // Dots stay round.
        for (const dot of layer.querySelectorAll("use")) {
          const x = dot.getAttribute("x");
          if (isWhole) dot.removeAttribute("transform");
          else dot.setAttribute("transform", `translate(${x} 0) scale(${1 / scale} 1) translate(${-x} 0)`);
        }
      }
      if (isWhole) continue;
      drawTicks(axis);
      nameAxis(axis);
    }
    bar.classList.toggle("held", !isWhole);
    for (const button of bar.querySelectorAll("[data-part]")) button.disabled = isWhole;
    const [start, end] = bar.querySelectorAll("input");
    start.value = text(from);
    end.value = text(to);
    bar.querySelector("output").textContent = isWhole
      ? "The whole run. Drag across a figure to look closer; all of them follow."
      : `From ${text(from)} s to ${text(to)} s, of ${Number(whole[1].toPrecision(4))} s.`;
  }

  function show(from, to) {
    if (!Number.isFinite(from) || !Number.isFinite(to)) return draw();
    const span = Math.min(whole[1] - whole[0], Math.max(least, to - from));
    const start = Math.min(Math.max(whole[0], from), whole[1] - span);
    shown = [start, start + span];
    return draw();
  }

  const scaled = (factor) => {
    const [middle, half] = [(shown[0] + shown[1]) / 2, ((shown[1] - shown[0]) * factor) / 2];
    show(middle - half, middle + half);
  };
  const moved = (share) => show(shown[0] + share * (shown[1] - shown[0]), shown[1] + share * (shown[1] - shown[0]));
  const actions = {
    in: () => scaled(0.5),
    out: () => scaled(2),
    left: () => moved(-0.25),
    right: () => moved(0.25),
    reset: () => show(...whole),
  };
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "reset", Escape: "reset" };

  bar.addEventListener("click", (event) => {
    const action = event.target.closest("button")?.dataset.do;
    if (action) actions[action]();
  });
  bar.addEventListener("change", () => {
    const [start, end] = [...bar.querySelectorAll("input")].map((input) => Number.parseFloat(input.value));
    show(Math.min(start, end), Math.max(start, end));
  });
  room.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    if (!event.target.closest("[tabindex]") && !event.target.closest(".zoom")) return;
    event.preventDefault();
    actions[action]();
  });

  for (const axis of axes) {
    const place = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(axis.svg.getScreenCTM().inverse()).x;
      return Math.min(axis.x1, Math.max(axis.x0, at));
    };
    const time = (x) => shown[0] + ((x - axis.x0) / (axis.x1 - axis.x0)) * (shown[1] - shown[0]);
    let from = null;
    let band = null;
    const stop = () => {
      band?.remove();
      band = null;
      from = null;
    };
    axis.group.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = place(event);
      axis.group.setPointerCapture(event.pointerId);
    });
    axis.group.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = place(event);
      if (!band) {
        band = make("rect", { class: "chosen", y: axis.y0, height: axis.y1 - axis.y0 });
        axis.group.append(band);
      }
      band.setAttribute("x", Math.min(from, to));
      band.setAttribute("width", Math.abs(to - from));
    });
    axis.group.addEventListener("pointerup", (event) => {
      const [start, to] = [from, place(event)];
      stop();
      if (start !== null && Math.abs(to - start) > 4) show(time(Math.min(start, to)), time(Math.max(start, to)));
    });
    axis.group.addEventListener("pointercancel", stop);
    axis.group.addEventListener("dblclick", actions.reset);
  }

  // Paper shows the whole run.
  let before = null;
  addEventListener("beforeprint", () => {
    before = shown;
    actions.reset();
  });
  addEventListener("afterprint", () => before && show(...before));

  for (const figure of room.querySelectorAll("figure")) {
    if (!figure.querySelector("g.time")) continue;
    figure.tabIndex = 0;
    figure.setAttribute("aria-describedby", "zoom-keys");
  }
  bar.hidden = false;
  draw();
})();
