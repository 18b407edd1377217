// The page: controls change the settings, settings become figures, figures are shown.

const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const posterior = makePosterior(facts);
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

function showCards(now, without) {
  const was = (text) => (without ? `\nplan alone ${text}` : "");
  byId("ettr").textContent = fraction(now.ettr.median);
  byId("ettr-note").textContent = range(now.ettr, fraction) + was(without && fraction(without.ettr.median));
  byId("mttf").textContent = duration(now.mttf.median);
  byId("mttf-note").textContent = range(now.mttf, duration) + was(without && duration(without.mttf.median));
  byId("days").textContent = daysText(now.days.median);
  byId("days-note").textContent = range(now.days, daysText) + was(without && daysText(without.days.median));
  byId("sentence").textContent = sentenceOf(now, without);
  const beyond = settings.gpus > facts.largest_job_gpus;
  byId("extrapolated").hidden = !beyond;
  byId("extrapolated").textContent = facts.largest_job_gpus
    ? `Beyond the data: the largest job in them had ${gpusText(facts.largest_job_gpus)}. The forecast is extrapolated.`
    : "The largest job of the data is not known: the forecast counts as extrapolated.";
  byId("legend-without").hidden = !without;
  byId("legend-beyond").hidden = facts.largest_job_gpus >= bounds.gpus.max;
  byId("legend-plan").textContent = without ? "With measures" : "This plan";
  readout(null);
}

function sentenceOf(now, without) {
  const probability = Math.round(100 * facts.interval.probability);
  const done = now.days.median <= 1e6
    ? `take ${daysText(now.days.median)} days (${probability} %: ${range(now.days, daysText)}).`
    : "do not get done: failures come before anything lasts.";
  const words = [
    `On ${gpusText(settings.gpus)}, ${settings.productive} days of work ${done}`,
    `The job fails ${often(now.failures.median)}; with a checkpoint every ${duration(now.chosen)}, `
    + `${quantity(now.lost.median)} GPU-hours a day are lost.`,
  ];
  if (without) {
    const gain = without.days.median - now.days.median;
    if (Math.abs(gain) >= 0.005 && Math.abs(gain) <= 1e6) {
      words.push(`The measures make it ${daysText(Math.abs(gain))} days ${gain > 0 ? "shorter" : "longer"}.`);
    }
  }
  return words.join(" ");
}

function often(perDay) {
  if (!(perDay > 0)) return "never";
  if (perDay >= 0.95) return `${three(perDay)} times a day`;
  return `once in ${daysText(1 / perDay)} days`;
}

function readout(index) {
  const at = index === null || index === undefined ? curve.sizes.indexOf(curve.chosen) : index;
  const { gpus, ettr, mttf, kokolis: paper } = curve.along[at];
  byId("readout").textContent = `${gpusText(gpus)}: ETTR ${fraction(ettr.median)} (${range(ettr, fraction)}), `
    + `mean time to failure ${duration(mttf.median)}; paper’s form ${paper.median.toFixed(3).replace("-", "−")}`;
}

function showControls(now) {
  const best = Number((now.chosen * 60).toPrecision(3));
  for (const one of controls) one.show(settings, one.name === "interval" && settings.optimal ? best : undefined);
  control("interval").element.classList.toggle("off", settings.optimal);
  byId("optimal").checked = settings.optimal;
  byId("asynchronous").checked = settings.asynchronous;
  byId("background").hidden = !settings.asynchronous;
  byId("pool").hidden = settings.spares === 0;
  const shares = posterior.shares(settings.gpus);
  components.forEach((name, place) => {
    const share = 100 * shares[place];
    byId(`x-${place}-share`).textContent = `(${share > 0 && share < 0.1 ? "<0.1" : share.toFixed(share < 9.95 ? 1 : 0)} %)`;
    byId(`x-${place}`).closest(".control").classList.toggle("changed", settings.rates[name] !== 1);
  });
  const nodes = Math.ceil(settings.gpus / facts.gpus_per_node);
  control("gpus").hint(`${count(nodes)} nodes of ${facts.gpus_per_node} GPUs`);
  const idle = settings.spares * facts.gpus_per_node;
  control("spares").hint(settings.spares === 0 ? "" : settings.queue === 0
    ? "The plan has no queue, so spares have nothing to save."
    : `${gpusText(idle)} stand by idle.`);
  control("fewer_detection").hint(settings.detection === 0 ? "The plan has no detection time to shorten." : "");
}

function showTable(along) {
  const body = byId("table").tBodies[0];
  const shown = along.filter(({ gpus }) => gpus === settings.gpus || Number.isInteger(Math.log2(gpus)) || gpus === bounds.gpus.max);
  body.replaceChildren(...shown.map((one) => {
    const row = document.createElement("tr");
    row.classList.toggle("chosen", one.gpus === settings.gpus);
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = count(one.gpus);
    if (one.gpus > facts.largest_job_gpus && facts.largest_job_gpus) {
      const star = head.appendChild(document.createElement("span"));
      star.className = "mark";
      star.textContent = " *";
    }
    const cells = [
      [duration(one.mttf.median), range(one.mttf, duration)],
      [fraction(one.ettr.median), range(one.ettr, fraction)],
      [duration(one.chosen)],
      [three(one.failures.median)],
      [daysText(one.expectedDays.median), range(one.expectedDays, daysText)],
    ];
    for (const [text, between] of cells) {
      const data = row.appendChild(document.createElement("td"));
      data.textContent = text;
      if (between) {
        const below = data.appendChild(document.createElement("span"));
        below.className = "range";
        below.textContent = between;
      }
    }
    return row;
  }));
}

let settling = 0;
function later() {
  clearTimeout(settling);
  settling = setTimeout(() => {
    history.replaceState(null, "", `#${toHash(settings)}`);
    byId("link").value = location.href;
    byId("status").textContent = byId("sentence").textContent;
  }, 300);
}

window.addEventListener("hashchange", () => {
  settings = fromHash(location.hash, defaults, bounds);
  soon();
});

// Rows for export: the size chosen and the powers of two, without and with the measures.
function rowsOf(chosen) {
  const measures = measuresOf(chosen, components);
  const sizes = new Set([chosen.gpus]);
  for (let gpus = 1; gpus <= bounds.gpus.max; gpus *= 2) if (gpus >= bounds.gpus.min) sizes.add(gpus);
  return [...sizes].sort((one, other) => one - other).flatMap((gpus) => {
    const rows = [rowOf(outcome(posterior, planOf(chosen), gpus, fixed), chosen, facts, [])];
    if (measures.length) rows.push(rowOf(outcome(posterior, mitigated(chosen, components), gpus, fixed), chosen, facts, measures));
    return rows;
  });
}

function save(text, type, ending) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `plan-${settings.gpus}-gpus.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  byId("done").textContent = `Saved ${link.download}.`;
}

byId("json").addEventListener("click", () => {
  save(`${JSON.stringify(documentOf(rowsOf(settings), settings, facts), null, 1)}\n`, "application/json", "json");
});
byId("csv").addEventListener("click", () => save(csvOf(rowsOf(settings)), "text/csv", "csv"));
byId("print").addEventListener("click", () => window.print());
byId("reset").addEventListener("click", () => {
  settings = fromHash("", defaults, bounds);
  soon();
});
byId("copy").addEventListener("click", async () => {
  history.replaceState(null, "", `#${toHash(settings)}`);
  byId("link").value = location.href;
  try {
    await navigator.clipboard.writeText(location.href);
    byId("done").textContent = "The link is on the clipboard. It opens this page with this plan.";
  } catch {
    byId("link").select();
    byId("done").textContent = "The link is marked: copy it. It opens this page with this plan.";
  }
});

update();

return {
  bestInterval, facts, fromHash, kokolis, mitigated, optimalInterval, outcome, planOf, poissonTail, posterior, renewal,
  rowsOf, synchronous, toHash, wallclockMoments, fixed, current: () => settings,
};
