// ETTR against GPUs: band, curves and the point chosen, drawn by uPlot.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

// Ticks at powers of two, as many as there is room for.
function sizeTicks(smallest, largest, most) {
  const powers = [];
  for (let power = Math.ceil(Math.log2(smallest)); 2 ** power <= largest; power += 1) powers.push(power);
  const step = Math.ceil(powers.length / most);
  return powers.filter((_, i) => i % step === 0).map((power) => 2 ** power);
}

function makeChart(place, { smallest, largest, largestJob, colours, onPick, onHover }) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let [plot, curve, printing] = [null, null, false];
  const palette = () => (dark.matches && !printing ? colours.dark : colours.light);
  const ink = (role) => () => palette()[role];

  function shade(u) {
    if (largestJob >= largest) return;
    const { left, top, width, height } = u.bbox;
    const from = largestJob > smallest ? u.valToPos(largestJob, "x", true) : left;
    u.ctx.save();
    u.ctx.fillStyle = palette().shade;
    u.ctx.fillRect(from, top, left + width - from, height);
    u.ctx.restore();
  }

  function mark(u) {
    const { ctx } = u;
    const [x, y] = [u.valToPos(curve.chosen, "x", true), u.valToPos(curve.ettr, "y", true)];
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = palette().muted;
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top + u.bbox.height);
    ctx.lineTo(x, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.arc(x, y, 6 * ratio, 0, 2 * Math.PI);
    ctx.fillStyle = palette().blue;
    ctx.strokeStyle = palette().paper;
    ctx.lineWidth = 2 * ratio;
    ctx.fill();
    ctx.stroke();
    ctx.restore();
  }

  function options(width) {
    const line = (role, more) => ({ stroke: ink(role), width: 2, points: { show: false }, ...more });
    const hidden = { stroke: "transparent", width: 0, points: { show: false } };
    const axis = { stroke: ink("ink"), font: FONT, grid: { stroke: ink("grid"), width: 1 }, ticks: { show: false } };
    return {
      width,
      height: Math.round(Math.max(230, Math.min(340, width * 0.48))),
      padding: [8, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false, distr: 3, log: 2, range: () => [smallest, largest] }, y: { range: () => [0, 1] } },
      axes: [
        {
          ...axis,
          splits: () => sizeTicks(smallest, largest, Math.max(2, Math.floor(width / 78))),
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map(count),
          label: "GPUs of the job",
          labelFont: FONT,
          labelSize: 22,
          size: 28,
        },
        { ...axis, splits: () => [0, 0.2, 0.4, 0.6, 0.8, 1], values: (_, splits) => splits.map((v) => v.toFixed(1)), size: 34 },
      ],
      series: [
        {}, hidden, hidden,
        line("vermilion", { width: 1.75, dash: [2, 4] }),
        line("ink", { width: 1.5, dash: [7, 5] }),
        line("blue", { width: 2.5 }),
      ],
      bands: [{ series: [1, 2], fill: () => `${palette().blue}38` }],
      hooks: {
        drawClear: [shade],
        draw: [mark],
        setCursor: [(u) => onHover(u.cursor.idx ?? null)],
        ready: [(u) => u.over.addEventListener("click", () => u.cursor.idx != null && onPick(curve.sizes[u.cursor.idx]))],
      },
    };
  }

  const columns = () => [curve.sizes, curve.upper, curve.lower, curve.paper, curve.without, curve.median];

  function rebuild(width = place.clientWidth) {
    plot?.destroy();
    plot = new uPlot(options(width), columns(), place);
  }

  new ResizeObserver(() => {
    if (plot && !printing && plot.width !== place.clientWidth) rebuild();
  }).observe(place);
  dark.addEventListener("change", () => plot && rebuild());
  window.addEventListener("beforeprint", () => {
    printing = true;
    rebuild(660);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    rebuild();
  });

  return (next) => {
    curve = next;
    if (plot) plot.setData(columns());
    else rebuild();
  };
}
