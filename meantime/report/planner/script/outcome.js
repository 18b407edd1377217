// What becomes of a plan on a number of GPUs: every figure as mean, median, lower and upper.

// Hours that a failure waits for nodes: the queue, or the swap where a spare stands by.
function waitOf(plan, hazard) {
  if (!plan.pool) return plan.queue;
  const empty = poissonTail(plan.pool.spares, hazard * plan.pool.repair);
  return empty * plan.queue + (1 - empty) * Math.min(plan.pool.swap, plan.queue);
}

// Hazards per hour of a job at the levels of the posterior.
function hazardsOf(posterior, plan, gpus, gpusPerNode, nComponents) {
  const factors = plan.factors ?? new Array(nComponents).fill(1);
  return posterior.rates(gpus, factors, plan.lemons).map((rate) => rate * (gpus / gpusPerNode / 24));
}

// The synchronous plan of one hazard, at the interval that is set or best for all hazards together.
function settledPlan(plan, hazards, weights) {
  const { productive, queue, slowdown, persist } = plan;
  const detectionAt = (hazard) => plan.detection + waitOf(plan, hazard) - queue;
  let { interval } = plan;
  if (plan.optimal) {
    const written = plan.write + slowdown * persist;
    const searched = { write: written, restart: plan.restart + (1 - slowdown) * persist, queue, productive };
    interval = bestInterval(hazards, weights, searched, hazards.map(detectionAt));
  }
  const whole = synchronous(interval, plan);
  const base = { ...whole, interval: Math.min(whole.interval, productive), queue, productive };
  const at = plan.pool
    ? (hazard) => ({ ...base, detection: detectionAt(hazard) })
    : () => ({ ...base, detection: plan.detection });
  return { at, chosen: whole.interval };
}

function outcome(posterior, plan, gpus, { gpusPerNode, nComponents, seed, luck = true }) {
  const hazards = hazardsOf(posterior, plan, gpus, gpusPerNode, nComponents);
  const { at, chosen } = settledPlan(plan, hazards, posterior.weights);
  const figures = (values) => {
    const bounds = [values[posterior.lower], values[posterior.upper]];
    const mean = values.reduce((sum, value, i) => sum + posterior.weights[i] * value, 0);
    return { mean, median: values[posterior.median], lower: Math.min(...bounds), upper: Math.max(...bounds) };
  };
  const of = (form) => figures(hazards.map((hazard) => form(hazard, at(hazard))));
  const expected = of(renewal);
  const result = {
    gpus,
    chosen,
    rate: figures(hazards.map((hazard) => hazard * 24 * gpusPerNode / gpus)),
    mttf: of((hazard) => 1 / hazard),
    interval: of((hazard, settled) => (plan.optimal ? Math.min(optimalInterval(hazard, settled.write), plan.productive) : plan.interval)),
    ettr: expected,
    kokolis: of((hazard, settled) => kokolis(hazard, { ...settled, queue: waitOf(plan, hazard) })),
    failures: of((hazard, { detection, queue }) => 24 * hazard / (1 + hazard * (detection + queue))),
    lost: scaled({ ...expected, lower: expected.upper, upper: expected.lower }, (value) => gpus * 24 * (1 - value)),
    expectedDays: of((hazard, settled) => plan.productive / 24 / renewal(hazard, settled)),
  };
  return luck ? { ...result, ...runsOf(result, posterior, plan, hazards, at, seed) } : result;
}

// ETTR and days of one run: uncertainty of the rates, and luck on top, which never narrows the band.
function runsOf(result, posterior, plan, hazards, at, seed) {
  const hazardAt = (probability) => interpolate(posterior.levels, hazards, probability);
  const runs = singleRuns(hazardAt, at, seed);
  const ettr = (probability) => plan.productive / quantileOfRuns(runs, 1 - probability);
  const [low, high] = [posterior.levels[posterior.lower], posterior.levels[posterior.upper]];
  const run = {
    mean: runs.reduce((sum, hours) => sum + plan.productive / hours, 0) / runs.length,
    median: ettr(0.5),
    lower: Math.min(ettr(low), result.ettr.lower),
    upper: Math.max(ettr(high), result.ettr.upper),
  };
  const days = scaled({ ...run, lower: run.upper, upper: run.lower }, (value) => plan.productive / 24 / value);
  return { run, days: { ...days, mean: result.expectedDays.mean } };
}

function scaled(figures, change) {
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, change(value)]));
}

function interpolate(places, values, at) {
  const above = Math.max(places.findIndex((place) => place >= at), 1);
  const share = (at - places[above - 1]) / (places[above] - places[above - 1]);
  return values[above - 1] + share * (values[above] - values[above - 1]);
}
