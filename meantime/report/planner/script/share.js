// A plan leaves the page: as a link, as JSON, as CSV.

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
