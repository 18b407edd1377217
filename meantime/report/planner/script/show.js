// Figures in words: the cards, the sentence, the hints at the controls and the table.

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
  control("gpus").hint(`${count(nodes)} node${nodes > 1 ? "s" : ""} of ${facts.gpus_per_node} GPUs`);
  const idle = settings.spares * facts.gpus_per_node;
  control("spares").hint(settings.spares === 0 ? "" : settings.queue === 0
    ? "The plan has no queue, so spares have nothing to save."
    : `${gpusText(idle)} stand by idle.`);
  control("lemons")?.hint(settings.lemons === 0 ? "" : `Of ${count(facts.lemons.fleet)} nodes, the worst by their posterior rates.`);
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
