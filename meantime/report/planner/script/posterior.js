// The posterior rates of the fit: thinned draws of every component, and the quantiles of all draws.

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

// Quantile of ordered values, linear between them, as NumPy's default.
function quantile(ordered, probability) {
  const place = probability * (ordered.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, ordered.length - 1);
  if (ordered[above] === ordered[below]) return ordered[below];
  return ordered[below] + (place - below) * (ordered[above] - ordered[below]);
}

function makePosterior(tables, nodes) {
  const { sizes, levels, draws, lows, steps } = tables;
  const codes = new Uint16Array(bytesOf(tables.logs));
  const corrections = new Float32Array(bytesOf(tables.corrections));
  const nComponents = lows.length;
  const left = nodes && new Float32Array(bytesOf(nodes.shares));
  const leftCorrections = nodes && new Float32Array(bytesOf(nodes.corrections));
  const logs = new Float64Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) {
    const component = Math.floor(i / draws) % nComponents;
    logs[i] = lows[component] + steps[component] * codes[i];
  }
  const weights = levels.map((_, i) => ((levels[i + 1] ?? 1) - (levels[i - 1] ?? 0)) / 2);
  const place = (probability) => levels.findIndex((level) => Math.abs(level - probability) < 1e-12);

  // The stored sizes between which a size lies, and where; rates follow a line in the logarithms between them.
  function between(gpus) {
    let upper = sizes.findIndex((size) => size >= gpus);
    if (upper < 0) upper = sizes.length - 1;
    if (upper === 0 || sizes[upper] <= gpus) return [upper, upper, 0];
    const lower = upper - 1;
    return [lower, upper, Math.log2(gpus / sizes[lower]) / Math.log2(sizes[upper] / sizes[lower])];
  }

  // Failures per node-day of every component, shape [component][draw].
  function components(gpus) {
    const [lower, upper, t] = between(gpus);
    return lows.map((_, component) => {
      const rates = new Float64Array(draws);
      const [from, to] = [lower, upper].map((knot) => (knot * nComponents + component) * draws);
      for (let d = 0; d < draws; d += 1) rates[d] = Math.exp((1 - t) * logs[from + d] + t * logs[to + d]);
      return rates;
    });
  }

  // Quantiles of the total rate at the levels: those of the thinned draws, each corrected by the factor by which
  // it misses that of all draws while nothing is scaled. So without measures they are those of all draws.
  // With nodes taken out the corrections are those of the draws without them.
  function rates(gpus, factors, out = 0) {
    const total = new Float64Array(draws);
    components(gpus).forEach((values, component) => {
      const factor = factors[component];
      for (let d = 0; d < draws; d += 1) total[d] += factor * values[d];
    });
    if (out) for (let d = 0; d < draws; d += 1) total[d] *= left[(out - 1) * draws + d];
    total.sort();
    const [lower, upper, t] = between(gpus);
    const count = levels.length;
    const known = out ? leftCorrections : corrections;
    const first = out ? (out - 1) * sizes.length * count : 0;
    return levels.map((level, i) => {
      const one = Math.log(known[first + lower * count + i]);
      const other = Math.log(known[first + upper * count + i]);
      return quantile(total, level) * Math.exp((1 - t) * one + t * other);
    });
  }

  // Share of all failures that each component has, posterior mean.
  function shares(gpus) {
    const means = components(gpus).map((values) => values.reduce((sum, value) => sum + value, 0));
    const all = means.reduce((sum, value) => sum + value, 0);
    return means.map((value) => (all > 0 ? value / all : 0));
  }

  return { levels, weights, rates, shares, median: place(0.5), lower: place(tables.lower), upper: place(tables.upper) };
}
