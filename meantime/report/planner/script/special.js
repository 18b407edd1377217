// Functions of one number, accurate from 0 to very large values: the counterparts of meantime.ettr.special.

const EPSILON = Number.EPSILON;
const SMALLEST = 2.2250738585072014e-308;

function horner(coefficients, x) {
  let total = 0;
  for (let i = coefficients.length - 1; i >= 0; i -= 1) total = total * x + coefficients[i];
  return total;
}

const BERNOULLI = [
  1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730,
  7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
];

// log(sinh(y/2) / (y/2)) as a series in y^2.
const LOG_SINHC = (() => {
  let factorial = 1;
  return BERNOULLI.map((number, i) => {
    const k = i + 1;
    factorial *= (2 * k - 1) * (2 * k);
    return number / (2 * k * factorial);
  });
})();
const FIRST = LOG_SINHC.map((c, i) => 2 * (i + 1) * c);
const SECOND = FIRST.map((c, i) => (2 * i + 1) * c);

// log((e^y - 1) / y): by how much failures stretch a task that starts again at each of them.
function logGrowth(y) {
  if (y < 1) return y * (0.5 + y * horner(LOG_SINHC, y * y));
  return y - Math.log(y) + Math.log1p(-Math.exp(-y));
}

// Mean and variance of the time of a failure known to strike within a task of length 1, at rate y.
function truncatedExponential(y) {
  if (y < 1) return { mean: 0.5 - y * horner(FIRST, y * y), variance: horner(SECOND, y * y) };
  const decay = Math.exp(-y);
  const alive = -Math.expm1(-y);
  return { mean: 1 / y - decay / alive, variance: 1 / (y * y) - decay / (alive * alive) };
}

const LOG_FACTORIAL = [0];

function logFactorial(n) {
  for (let i = LOG_FACTORIAL.length; i <= n; i += 1) LOG_FACTORIAL.push(LOG_FACTORIAL[i - 1] + Math.log(i));
  return LOG_FACTORIAL[n];
}

// P(N >= n) for N Poisson with the given mean, summed on the side on which there is less.
function poissonTail(n, mean) {
  if (n <= 0) return 1;
  if (mean <= 0) return 0;
  const from = n > mean ? n : n - 1;
  let term = Math.exp(from * Math.log(mean) - mean - logFactorial(from));
  let total = 0;
  for (let j = from; term > 0 && j >= 0; j += n > mean ? 1 : -1) {
    total += term;
    if (term < total * EPSILON / 16) break;
    term *= n > mean ? mean / (j + 1) : j / mean;
  }
  return n > mean ? Math.min(total, 1) : Math.max(1 - total, 0);
}

// Quantile of the normal distribution (Acklam's rational approximation, relative error 1.2e-9).
function normalQuantile(p) {
  const a = [2.506628277459239, -30.66479806614716, 138.357751867269, -275.9285104469687, 220.9460984245205, -39.69683028665376];
  const b = [1, -13.28068155288572, 66.80131188771972, -155.6989798598866, 161.5858368580409, -54.47609879822406];
  const c = [2.938163982698783, 4.374664141464968, -2.549732539343734, -2.400758277161838, -0.3223964580411365, -0.007784894002430293];
  const d = [1, 3.754408661907416, 2.445134137142996, 0.3224671290700398, 0.007784695709041462];
  if (p < 0.02425 || p > 1 - 0.02425) {
    const q = Math.sqrt(-2 * Math.log(Math.min(p, 1 - p)));
    const value = horner(c, q) / horner(d, q);
    return p < 0.5 ? value : -value;
  }
  const q = p - 0.5;
  return q * horner(a, q * q) / horner(b, q * q);
}
