// Numbers as people read them, as in the report.

const NOTHING = "–";
const SPACE = "\u00a0";

function grouped(value, digits = 0) {
  return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function three(value) {
  if (!Number.isFinite(value)) return NOTHING;
  if (value === 0) return "0";
  const size = (number) => Math.floor(Math.log10(Math.abs(number)));
  const rounded = Number(value.toPrecision(3));
  return grouped(rounded, Math.min(Math.max(2 - size(rounded), 0), 12));
}

function count(value) {
  return Number.isFinite(value) ? grouped(Math.round(value)) : NOTHING;
}

function quantity(value) {
  if (!Number.isFinite(value)) return NOTHING;
  if (value >= 1e9) return `${three(value / 1e9)} billion`;
  if (value >= 1e6) return `${three(value / 1e6)} million`;
  return value < 100 ? three(value) : count(value);
}

function fraction(value) {
  if (!Number.isFinite(value)) return NOTHING;
  if (value > 0 && value < 0.001) return "<0.001";
  return value >= 0.01 && value < 0.1 ? three(value) : value.toFixed(3);
}

function duration(hours) {
  if (Number.isNaN(hours)) return NOTHING;
  const seconds = hours * 3600;
  if (!Number.isFinite(seconds)) return "never";
  for (const [limit, unit, size] of [[120, "s", 1], [7200, "min", 60], [172800, "h", 3600]]) {
    if (seconds < limit) return `${Number((seconds / size).toPrecision(3))}${SPACE}${unit}`;
  }
  return `${daysText(seconds / 86400)}${SPACE}d`;
}

function daysText(days) {
  if (Number.isNaN(days)) return NOTHING;
  if (days > 1e6) return days < Infinity ? `>1${SPACE}million` : "never";
  return days < 1000 ? three(days) : grouped(Math.round(days));
}

function range(figures, write) {
  const [lower, upper] = [write(figures.lower), write(figures.upper)];
  if (lower === upper) return lower;
  const unit = (text) => text.split(SPACE)[1];
  const short = unit(lower) && unit(lower) === unit(upper) ? lower.split(SPACE)[0] : lower;
  return `${short} to ${upper}`;
}

function gpusText(number) {
  return `${count(number)}${SPACE}GPUs`;
}
