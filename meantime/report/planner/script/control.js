// One control: a number field and a slider that follow each other.

const STEPS = 200;

// Values of a slider's positions; `first` and `last` are its ends.
function scaleOf(kind, low, high, multiple) {
  const nice = (value) => Number(value.toPrecision(2));
  if (kind === "gpus") {
    const start = Math.floor(8 * Math.log2(low));
    const last = Math.ceil(8 * Math.log2(high)) - start;
    const whole = (value) => Math.min(Math.max(Math.round(value / multiple) * multiple, low), high);
    return {
      last,
      value: (position) => whole(2 ** ((start + position) / 8)),
      position: (value) => (value >= high ? last : 8 * Math.log2(value) - start),
    };
  }
  if (kind === "linear") {
    return {
      last: STEPS,
      value: (position) => Number((low + (high - low) * position / STEPS).toFixed(3)),
      position: (value) => (value - low) / (high - low) * STEPS,
    };
  }
  const first = kind === "zero" ? 1 : 0;
  const span = STEPS - first;
  return {
    last: STEPS,
    value: (position) => (position < first ? 0 : nice(low * (high / low) ** ((position - first) / span))),
    position: (value) => (value <= 0 ? 0 : first + Math.log(value / low) / Math.log(high / low) * span),
  };
}

function makeControl(element, { multiple, bounds, read, write, onChange }) {
  const { name, kind, low, high, unit } = element.dataset;
  const [field, slider, hint] = ["", "-slider", "-hint"].map((part) => document.getElementById(name + part));
  const scale = scaleOf(kind, Number(low), Number(high), multiple);
  const { min, max, whole } = bounds;
  slider.max = scale.last;

  function show(settings, value = read(settings)) {
    if (document.activeElement !== field || Number(field.value) !== value) field.value = value;
    slide(value);
    right();
  }

  function slide(value) {
    slider.value = Math.min(Math.max(Math.round(scale.position(value)), 0), scale.last);
    say(value);
  }

  function say(value) {
    const text = value.toLocaleString("en-GB", { maximumSignificantDigits: 7 });
    slider.setAttribute("aria-valuetext", unit === "×" ? `times ${text}` : `${text} ${unit}`.trim());
  }

  function right() {
    field.removeAttribute("aria-invalid");
    hint.classList.remove("wrong");
    hint.textContent = hint.dataset.hint;
  }

  slider.addEventListener("input", () => {
    const value = scale.value(Number(slider.value));
    const allowed = whole ? Math.round(value) : value;
    field.value = allowed;
    say(allowed);
    right();
    write(allowed);
    onChange();
  });
  field.addEventListener("input", () => {
    if (!acceptable(field.value, bounds)) {
      field.setAttribute("aria-invalid", "true");
      hint.classList.add("wrong");
      hint.textContent = `${whole ? "A whole number" : "A number"} from ${grouped(min, min < 1 ? 2 : 0)} to ${grouped(max)}`;
      return;
    }
    right();
    write(Number(field.value));
    slide(Number(field.value));
    onChange();
  });

  return {
    element,
    name,
    show,
    hint(text) {
      hint.dataset.hint = text;
      if (!field.hasAttribute("aria-invalid")) hint.textContent = text;
    },
  };
}
