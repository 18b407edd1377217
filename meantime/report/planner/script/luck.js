// The luck of single runs: how long one run takes, beside what all runs take on average (see meantime.forecast.luck).

const RUNS = 1000;
const MANY = 200;
const SIMULATED = 1000;

// Mirror the binary digits of a whole number at the point: evenly spread over (0, 1).
function vanDerCorput(number) {
  let [rest, result, share] = [number, 0, 0.5];
  for (; rest > 0; rest = Math.floor(rest / 2), share /= 2) result += share * (rest % 2);
  return result;
}

const SCORES = Array.from({ length: RUNS }, (_, i) => normalQuantile(vanDerCorput(i + 1)));

// Random numbers in (0, 1), the same at every call, so that figures move smoothly with the controls (mulberry32).
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

// Mean and variance of a task that starts again at every failure, each of which costs a recovery more.
function taskMoments(hazard, length, recovery) {
  const failures = Math.expm1(hazard * length);
  const { mean, variance } = truncatedExponential(hazard * length);
  const cost = length * mean + recovery.mean;
  const spread = length * length * variance + recovery.variance;
  return {
    mean: length + failures * cost,
    variance: failures * spread + failures * (1 + failures) * cost * cost,
  };
}

// Mean and variance of the wall-clock hours of one run, both exact.
function wallclockMoments(hazard, plan) {
  const { interval, write, restart, detection, queue, productive } = plan;
  const { full, length, last } = cut(interval, productive);
  const wait = detection + queue;
  const restarting = taskMoments(hazard, restart, { mean: wait, variance: 0 });
  const recovery = { mean: wait + restarting.mean, variance: restarting.variance };
  const segment = taskMoments(hazard, length + write, recovery);
  const ending = taskMoments(hazard, last + write, recovery);
  const part = (name) => (full > 0 ? full * segment[name] : 0);
  return {
    mean: queue + restarting.mean + part("mean") + ending.mean,
    variance: restarting.variance + part("variance") + ending.variance,
  };
}

// One run, failure by failure: exact, and quick where failures are few.
function simulateRun(hazard, plan, random) {
  const { interval, write, restart, detection, queue, productive } = plan;
  const { full, length, last } = cut(interval, productive);
  const [segment, ending] = [length + write, last + write];
  let [hours, done] = [queue, 0];
  for (;;) {
    const failure = hazard > 0 ? -Math.log(random()) / hazard : Infinity;
    const needed = restart + (full - done) * segment + ending;
    if (failure >= needed) return hours + needed;
    hours += failure + detection + queue;
    if (failure > restart) done = Math.min(full, done + Math.floor((failure - restart) / segment));
  }
}

// Gamma variate with mean 1 (Marsaglia and Tsang 2000), for shapes of at least about 1.
function gammaOf(shape, random) {
  const d = Math.max(shape, 1) - 1 / 3;
  for (;;) {
    const x = normalQuantile(random());
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(random()) < x * x / 2 + d * (1 - v + Math.log(v))) return v * d / (d + 1 / 3);
  }
}

// Failures that a run meets on average, those within restarts included.
function failuresOf(hazard, plan) {
  const { full, length, last } = cut(plan.interval, plan.productive);
  const striking = full * Math.expm1(hazard * (length + plan.write)) + Math.expm1(hazard * (last + plan.write));
  return striking + (striking + 1) * Math.expm1(hazard * plan.restart);
}

// Wall-clock hours of single runs, in ascending order. Hazards and plans are spread evenly over the posterior;
// where failures are many the lost time is close to a Gamma distribution with its exact mean and variance.
function singleRuns(hazardAt, planAt, seed) {
  const random = randomOf(seed);
  const runs = new Float64Array(RUNS);
  for (let i = 0; i < RUNS; i += 1) {
    const hazard = hazardAt((i + 0.5) / RUNS);
    const plan = planAt(hazard);
    const { mean, variance } = wallclockMoments(hazard, plan);
    const segments = Math.ceil(plan.productive / plan.interval * (1 - 1e-12));
    const least = plan.queue + plan.restart + plan.productive + segments * plan.write;
    const lost = mean - least;
    const shape = lost * lost / variance;
    if (Number.isFinite(shape) && shape >= MANY) {
      runs[i] = least + lost * (1 - 1 / (9 * shape) + SCORES[i] / (3 * Math.sqrt(shape))) ** 3;
    } else if (failuresOf(hazard, plan) <= SIMULATED) {
      runs[i] = simulateRun(hazard, plan, random);
    } else {
      runs[i] = Number.isFinite(shape) ? least + lost * gammaOf(shape, random) : Infinity;
    }
  }
  return runs.sort();
}

// Quantile of ordered runs, run i of n being at probability (i + 1/2) / n.
function quantileOfRuns(ordered, probability) {
  const place = Math.min(Math.max(probability * ordered.length - 0.5, 0), ordered.length - 1);
  return quantile(ordered, place / (ordered.length - 1));
}
