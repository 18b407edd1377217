// What the controls say, as one flat object in the units that they show; to and from the link of a plan.

const HOURS = { s: 1 / 3600, min: 1 / 60, h: 1, d: 24, "%": 0.01, "": 1 };

function toHours(value, unit) {
  if (unit === "s") return value / 3600;
  return unit === "min" ? value * 60 / 3600 : value * HOURS[unit];
}

// Settings as text for the part of the address behind "#".
function toHash(settings) {
  const { rates, ...plain } = settings;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(plain)) parameters.set(name, typeof value === "boolean" ? Number(value) : value);
  for (const [name, factor] of Object.entries(rates)) if (factor !== 1) parameters.set(`x.${name}`, factor);
  return parameters.toString();
}

// Settings from such a text; what is missing, unknown or out of bounds keeps its default.
function fromHash(text, defaults, bounds) {
  const settings = { ...defaults, rates: { ...defaults.rates } };
  for (const [name, value] of new URLSearchParams(text.replace(/^#/, ""))) {
    if (typeof defaults[name] === "boolean") {
      settings[name] = value === "1";
    } else if (Object.hasOwn(defaults, name) && Object.hasOwn(bounds, name) && acceptable(value, bounds[name])) {
      settings[name] = Number(value);
    } else if (name.startsWith("x.") && Object.hasOwn(settings.rates, name.slice(2)) && acceptable(value, bounds["x."])) {
      settings.rates[name.slice(2)] = Number(value);
    }
  }
  return settings;
}

function acceptable(text, { min, max, whole }) {
  const value = Number(text);
  return String(text).trim() !== "" && value >= min && value <= max && (!whole || Number.isInteger(value));
}

// The plan in hours, without any measure.
function planOf(settings) {
  return {
    optimal: settings.optimal,
    interval: toHours(settings.interval, "min"),
    write: toHours(settings.write, "s"),
    restart: toHours(settings.restart, "min"),
    queue: toHours(settings.queue, "min"),
    detection: toHours(settings.detection, "min"),
    productive: toHours(settings.productive, "d"),
    persist: 0,
    slowdown: 0,
    pool: null,
    factors: null,
    lemons: 0,
  };
}

// The plan with the measures, applied in the order of meantime.forecast.scenario.
function mitigated(settings, components) {
  const plan = planOf(settings);
  plan.restart *= settings.fewer_restart;
  plan.detection *= settings.fewer_detection;
  plan.write *= settings.fewer_write;
  if (settings.asynchronous) {
    plan.persist = plan.write;
    plan.write = Math.min(plan.write, toHours(settings.blocking, "s") * settings.fewer_write);
    plan.slowdown = settings.slowdown / 100;
  }
  if (settings.spares > 0) {
    const pool = { spares: settings.spares, repair: settings.repair, swap: toHours(settings.swap, "min") };
    plan.pool = pool;
  }
  plan.lemons = settings.lemons;
  plan.factors = components.map((name) => settings.rates[name]);
  return plan;
}

// What is done, in the words of meantime.forecast's mitigations.
function measuresOf(settings, components) {
  const measures = components
    .filter((name) => settings.rates[name] !== 1)
    .map((name) => `${name} x ${settings.rates[name]}`);
  if (settings.fewer_restart !== 1) measures.push(`restart x ${settings.fewer_restart}`);
  if (settings.fewer_write !== 1) measures.push(`checkpoint write x ${settings.fewer_write}`);
  if (settings.fewer_detection !== 1) measures.push(`detection x ${settings.fewer_detection}`);
  if (settings.asynchronous) {
    const slower = settings.slowdown ? `, ${settings.slowdown / 100} slower` : "";
    measures.push(`asynchronous checkpoint, ${settings.blocking}s blocking${slower}`);
  }
  if (settings.spares > 0) {
    measures.push(`${settings.spares} hot spare${settings.spares > 1 ? "s" : ""}, repair ${settings.repair}h`);
  }
  if (settings.lemons > 0) measures.push(`remove ${settings.lemons} lemon${settings.lemons > 1 ? "s" : ""}`);
  return measures;
}
