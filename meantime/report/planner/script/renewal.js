// Expected ETTR of a run, hours and failures per hour: the counterparts of meantime.ettr.
// A plan here has the fields interval, write, restart, detection, queue and productive.

// How a run is cut by its checkpoints; a quotient within rounding of a whole number is that number.
function cut(interval, productive) {
  const length = Math.min(interval, productive);
  const full = Math.max(Math.ceil(productive / length * (1 - 4 * EPSILON)) - 1, 0);
  return { full, length, last: Math.min(productive - full * length, length) };
}

// log(E[wall] / productive), exactly: failures strike work, writes and restarts alike.
function logSlowdown(hazard, plan) {
  const { interval, write, restart, detection, queue, productive } = plan;
  const stretch = hazard * restart;
  const wait = hazard * (detection + queue);
  if (productive === Infinity) {
    const segment = logGrowth(hazard * (interval + write));
    return stretch + segment + Math.log1p(wait + (1 + wait) * (write / interval));
  }
  const { full, length, last } = cut(interval, productive);
  const segment = logGrowth(hazard * ((full > 0 ? length : last) + write));
  const shorter = logGrowth(hazard * (last + write)) - segment;
  const writes = (full * write + write * Math.exp(shorter)) / productive;
  const shortLast = last / productive * Math.expm1(shorter);
  const firstRestart = restart / productive * Math.exp(logGrowth(stretch) - stretch - segment);
  const firstQueue = queue / productive * Math.exp(-stretch - segment);
  const loss = stretch + segment + Math.log1p(firstQueue + wait + (1 + wait) * (writes + shortLast + firstRestart));
  return Math.max(loss, 0);
}

function renewal(hazard, plan) {
  return Math.max(Math.exp(-logSlowdown(hazard, plan)), SMALLEST);
}

// The published first-order form of Kokolis et al. 2025, for comparison; it can be negative.
function kokolis(hazard, plan) {
  const { interval, write, restart, queue, productive } = plan;
  const left = 1 - (hazard * restart + hazard * interval / 2);
  return left / ((1 + write / interval + restart / productive) * (1 + hazard * queue) + queue / productive * left);
}

// x = s - s^2/3 + s^3/36 + ... with s = sqrt(2 a) solves -log(1 - x) - x = a near 0.
const OPTIMUM = (() => {
  const b = [0, 1];
  for (let n = 2; n <= 20; n += 1) {
    let sum = 0;
    for (let i = 2; i < n; i += 1) sum += b[i] * b[n + 1 - i];
    b.push(-b[n - 1] / (n + 1) - sum / 2);
  }
  return b.slice(1);
})();

// The best interval of a long run, (1 + W0(-e^(-lam w - 1))) / lam; by Newton's iteration away from the branch point.
function optimalInterval(hazard, write) {
  if (write === 0) return 0;
  if (hazard === 0) return Infinity;
  const a = hazard * write;
  const s = Math.sqrt(2 * a);
  if (s < 0.5) return Math.sqrt(2 * write / hazard) * horner(OPTIMUM, s);
  let x = -Math.expm1(-1 - a);
  for (let i = 0; i < 7; i += 1) {
    const passed = -Math.expm1(-(x + a));
    x -= (x - passed) / passed;
  }
  return x / hazard;
}

// Asynchronous checkpoints as the synchronous plan that takes exactly as long.
function synchronous(interval, { write, persist, slowdown, restart, productive }) {
  const beside = (1 - slowdown) * persist;
  const every = Math.max(interval, beside);
  const segments = productive / Math.min(every, productive);
  const fewer = Math.max(Math.floor(segments * (1 + 4 * EPSILON)), 1);
  const rest = productive - fewer * every;
  const length = rest > 0 && rest < beside ? productive / fewer : every;
  return { interval: length, write: write + slowdown * persist, restart: restart + beside };
}

// ETTR of a run cut into productive / interval segments, whole number or not: what the search looks at.
function smooth(hazard, plan) {
  const { restart, detection, queue, productive } = plan;
  const endless = Math.exp(logSlowdown(hazard, { ...plan, productive: Infinity }));
  const start = hazard > 0
    ? queue + (1 / hazard + detection + queue) * Math.expm1(hazard * restart)
    : queue + restart;
  return 1 / (endless + start / productive);
}

// The one interval that is best on average over points of the hazard; detections may differ from point to point.
function bestInterval(hazards, weights, plan, detections) {
  const { productive } = plan;
  const own = hazards.map((hazard) => optimalInterval(hazard, plan.write)).filter(Number.isFinite);
  if (!own.length) return productive;
  const average = (form, interval) => {
    const at = { ...plan, interval };
    let total = 0;
    for (let i = 0; i < hazards.length; i += 1) {
      at.detection = detections[i];
      total += weights[i] * form(hazards[i], at);
    }
    return total;
  };
  const value = (x) => average(smooth, Math.exp(x));
  let low = Math.log(Math.min(...own, productive));
  let high = Math.log(Math.min(Math.max(...own) * (own.length < hazards.length ? 1e4 : 1), productive));
  const golden = (Math.sqrt(5) - 1) / 2;
  let left = high - golden * (high - low);
  let right = low + golden * (high - low);
  let [atLeft, atRight] = [value(left), value(right)];
  while (high - low > 1e-4) {
    if (atLeft > atRight) {
      [high, right, atRight] = [right, left, atLeft];
      left = high - golden * (high - low);
      atLeft = value(left);
    } else {
      [low, left, atLeft] = [left, right, atRight];
      right = low + golden * (high - low);
      atRight = value(right);
    }
  }
  const segments = productive / Math.exp((low + high) / 2);
  const choices = [Math.floor(segments), Math.ceil(segments)].map((n) => productive / Math.max(n, 1));
  const [one, other] = choices.map((interval) => average(renewal, interval));
  return other > one ? choices[1] : choices[0];
}
