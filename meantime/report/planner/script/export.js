// A plan as JSON of the schema meantime.forecast/1, and as CSV with the columns of `meantime forecast --csv`.

const FIGURES = ["mean", "median", "lower", "upper"];
const FIELDS = ["restart", "checkpoint_write", "checkpoint_interval", "queue", "detection", "productive"];

function finite(value) {
  return Number.isFinite(value) ? value : null;
}

function rowOf(result, settings, tables, measures) {
  const four = (figures, factor = 1) => (
    Object.fromEntries(FIGURES.map((name) => [name, finite(figures[name] * factor)]))
  );
  const { optimal, restart, write, interval, queue, detection, productive } = settings;
  const seconds = (value, unit) => toHours(value, unit) * 3600;
  return {
    gpus: result.gpus,
    nodes: Math.ceil(result.gpus / tables.gpus_per_node),
    extrapolated: result.gpus > tables.largest_job_gpus,
    rate_per_1000_node_days: four(result.rate, 1000),
    mttf_hours: four(result.mttf),
    checkpoint_interval_seconds: four(result.interval, 3600),
    ettr: four(result.ettr),
    ettr_run: four(result.run),
    ettr_kokolis: four(result.kokolis),
    failures_per_day: four(result.failures),
    gpu_hours_lost_per_day: four(result.lost),
    days_to_finish: four(result.days),
    checkpoint_interval_chosen_seconds: finite(result.chosen * 3600),
    plan: {
      restart: `${restart}min`,
      checkpoint_write: `${write}s`,
      checkpoint_interval: optimal ? "optimal" : `${interval}min`,
      queue: `${queue}min`,
      detection: `${detection}min`,
      productive: `${productive}d`,
    },
    plan_seconds: {
      restart: seconds(restart, "min"),
      checkpoint_write: seconds(write, "s"),
      checkpoint_interval: optimal ? null : seconds(interval, "min"),
      queue: seconds(queue, "min"),
      detection: seconds(detection, "min"),
      productive: seconds(productive, "d"),
    },
    measures,
  };
}

function documentOf(rows, settings, tables) {
  return {
    schema: "meantime.forecast/1",
    interval: tables.interval,
    seed: tables.seed,
    gpus_per_node: tables.gpus_per_node,
    model: tables.model,
    notes: notesOf(rows, tables),
    rows,
    planner: { settings, link: toHash(settings) },
  };
}

function notesOf(rows, tables) {
  const notes = [...tables.notes];
  const beyond = [...new Set(rows.filter((row) => row.extrapolated).map((row) => row.gpus))];
  const listed = (sizes) => (sizes.length > 4
    ? `${sizes.length} sizes from ${count(sizes[0])} to ${count(sizes.at(-1))} GPUs`
    : `${sizes.map(count).join(", ")} GPUs`);
  if (tables.largest_job_gpus && beyond.length) {
    notes.push(`${listed(beyond)}: beyond the largest job of the data (${count(tables.largest_job_gpus)} GPUs).`);
  }
  const parts = [...new Set(rows.map((row) => row.gpus).filter((gpus) => gpus % tables.gpus_per_node))];
  if (parts.length) notes.push(`${listed(parts)}: part of a node counts as that part in the failure rate.`);
  const negative = [...new Set(rows.filter((row) => row.ettr_kokolis.lower < 0).map((row) => row.gpus))];
  if (negative.length) {
    notes.push(`The first-order form of Kokolis et al. is below 0 for ${listed(negative)}; it is there to compare with.`);
  }
  return notes;
}

// Columns of the CSV that `meantime forecast` writes, and the measures at the end.
function csvOf(rows) {
  const flat = rows.map((row) => {
    const { gpus, nodes, extrapolated } = row;
    const columns = { gpus, nodes, extrapolated };
    for (const name of FIELDS) {
      columns[`plan_${name}`] = row.plan[name];
      columns[`plan_${name}_seconds`] = row.plan_seconds[name];
    }
    columns.checkpoint_interval_chosen_seconds = row.checkpoint_interval_chosen_seconds;
    for (const [key, value] of Object.entries(row)) {
      if (value && typeof value === "object" && "median" in value) {
        for (const figure of FIGURES) columns[`${key}_${figure}`] = value[figure];
      }
    }
    columns.measures = row.measures.join("; ");
    return columns;
  });
  const lines = [Object.keys(flat[0]), ...flat.map(Object.values)];
  return `${lines.map((line) => line.map(cell).join(",")).join("\n")}\n`;
}

// One cell: quoted where it must be, and never a text that a spreadsheet would take for a formula.
function cell(value) {
  const text = value === null ? "" : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
