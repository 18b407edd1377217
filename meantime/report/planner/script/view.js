// The page: controls change the settings, settings become figures, figures are shown.

const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const posterior = makePosterior(facts, facts.lemons);
const { components } = facts;
const bounds = facts.bounds;
const fixed = { gpusPerNode: facts.gpus_per_node, nComponents: components.length, seed: facts.seed };
const defaults = facts.settings;
let settings = fromHash(location.hash, defaults, bounds);
let curve = null;

const controls = [...document.querySelectorAll(".control")].map((element) => {
  const { name, component } = element.dataset;
  const key = component === undefined ? null : components[Number(component)];
  return makeControl(element, {
    multiple: facts.gpus_per_node,
    bounds: key === null ? bounds[name] : bounds["x."],
    read: (from) => (key === null ? from[name] : from.rates[key]),
    write: (value) => {
      if (key !== null) settings.rates[key] = value;
      else settings[name] = value;
      if (name === "interval") settings.optimal = false;
    },
    onChange: soon,
  });
});
const control = (name) => controls.find((one) => one.name === name);

for (const name of ["optimal", "asynchronous"]) {
  byId(name).addEventListener("change", (event) => {
    settings[name] = event.target.checked;
    if (name === "optimal" && !settings.optimal) settings.interval = Number(byId("interval").value);
    soon();
  });
}
byId("form").addEventListener("submit", (event) => event.preventDefault());

const draw = makeChart(byId("chart"), {
  smallest: bounds.gpus.min,
  largest: bounds.gpus.max,
  largestJob: facts.largest_job_gpus,
  colours: facts.colours,
  onPick: (gpus) => {
    settings.gpus = gpus;
    control("gpus").show(settings);
    soon();
  },
  onHover: (index) => readout(index),
});

// Powers of two and three sizes between each, the ends, and the size chosen.
function curveSizes() {
  const { min, max } = bounds.gpus;
  const sizes = new Set([min, max, settings.gpus]);
  for (let step = Math.ceil(4 * Math.log2(min)); 2 ** (step / 4) <= max; step += 1) sizes.add(Math.round(2 ** (step / 4)));
  return [...sizes].sort((one, other) => one - other);
}

let waiting = 0;
function soon() {
  if (!waiting) waiting = requestAnimationFrame(update);
}

function update() {
  waiting = 0;
  const measures = measuresOf(settings, components);
  const [plan, before] = [mitigated(settings, components), planOf(settings)];
  const now = outcome(posterior, plan, settings.gpus, fixed);
  const without = measures.length ? outcome(posterior, before, settings.gpus, fixed) : null;
  const sizes = curveSizes();
  const quick = { ...fixed, luck: false };
  const along = sizes.map((gpus) => outcome(posterior, plan, gpus, quick));
  const other = without && sizes.map((gpus) => outcome(posterior, before, gpus, quick).ettr.median);
  curve = {
    sizes,
    along,
    lower: along.map((one) => one.ettr.lower),
    upper: along.map((one) => one.ettr.upper),
    median: along.map((one) => one.ettr.median),
    paper: along.map((one) => one.kokolis.median),
    without: other ?? sizes.map(() => null),
    chosen: settings.gpus,
    ettr: now.ettr.median,
  };
  draw(curve);
  showCards(now, without);
  showControls(now);
  showTable(along);
  later();
}

byId("reset").addEventListener("click", () => {
  settings = fromHash("", defaults, bounds);
  soon();
});
