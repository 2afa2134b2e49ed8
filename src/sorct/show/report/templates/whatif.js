// The form of the variables used, and the probabilities that follow from it.

function usedVariables(report, model) {
  const used = new Set();
  for (const weights of [model.coef, model.leaf_coef || []]) {
    weights.forEach((row, j) => { if (row.some((a) => a !== 0)) used.add(report.columns[j][0]); });
  }
  return [...used].sort((a, b) => a - b);
}

// Values to begin with: the first listed sample, else what is typical of training.
function firstValues(report) {
  if (report.samples.length) return report.samples[0].values.slice();
  return report.variables.map((v) => (v.levels ? v.typical : roundedFor(v, v.typical)));
}

// A value with as many digits as matter within its range.
function roundedFor({ whole, span }, value) {
  return whole ? Math.round(value) : Number(value.toPrecision(digitsFor(value, span / 200)));
}

// The same for a value that is exact: shown to seven digits or more where these matter
// in the range of the variable, without what single precision leaves behind.
function shortFor({ whole, span }, value) {
  const digits = Math.max(7, digitsFor(value, span / 1000));
  return whole && Number.isInteger(value) ? value : Number(value.toPrecision(digits));
}

function sampleField(report, place, start) {
  if (!report.samples.length) return null;
  const list = make("select", { id: "sample", onchange: () => start(Number(list.value)) },
    make("option", { value: -1 }, "own values"),
    report.samples.map((sample, n) => make("option", { value: n, selected: n === place },
      `${sample.name} (${targetOf(report).sampleText(report, sample)})`)));
  return make("p", { class: "field" }, make("label", { for: "sample" }, "Start from sample"), list);
}

// The box of a number, or of a date: how a value is put in and read; NaN if it is none.
function valueBox(variable, attributes) {
  const { origin, whole } = variable;
  const box = make("input", origin ? { ...attributes, type: "date" }
    : { ...attributes, type: "number", step: whole ? 1 : "any" });
  return {
    box,
    read: () => (origin ? daysOf(variable, box.value) : box.valueAsNumber),
    fill: (value) => { box.value = origin ? dayText(variable, value) : value; },
  };
}

function numberField(variable, i, value, change) {
  const id = `value-${i}`, { lower, span, whole } = variable, step = whole ? 1 : span / 200;
  const { box, read, fill: put } = valueBox(variable, { id, "data-variable": i, "aria-describedby": `${id}-range` });
  const slide = make("input", {
    type: "range", min: lower, max: lower + span, step: step || 1, value: value === null ? variable.typical : value,
    "aria-label": `${variable.name}, slider`, tabindex: -1,
  });
  const range = make("span", {}), note = make("small", { id: `${id}-range` }, range);
  const tick = variable.missing ? make("input", {
    type: "checkbox", id: `${id}-missing`, "aria-label": `${variable.name} is missing`,
  }) : null;
  if (tick) note.append(make("label", { class: "tick" }, tick, "missing"));
  const tell = (now) => {
    const outside = now < lower || now > lower + span, isEmpty = !Number.isFinite(now);
    range.textContent = isEmpty && !tick ? `a ${variable.origin ? "date" : "number"} is missing`
      : `${outside ? "outside " : ""}${rangeText(variable)} in training${outside && (variable.at || variable.bends) ? ", counts as its end" : ""}`;
    range.classList.toggle("warning", outside || (isEmpty && !tick));
    box.setAttribute("aria-invalid", String(isEmpty && !tick));
    if (tick) tick.checked = isEmpty;
  };
  const changed = () => {
    tell(read());
    change(i, tick && tick.checked ? null : read());
  };
  box.addEventListener("input", () => {
    if (Number.isFinite(read())) slide.value = read();
    changed();
  });
  slide.addEventListener("input", () => {
    put(roundedFor(variable, slide.valueAsNumber));
    changed();
  });
  if (tick) tick.addEventListener("change", () => {
    if (tick.checked) box.value = "";
    else put(roundedFor(variable, slide.valueAsNumber));
    changed();
  });
  if (value !== null) put(variable.origin ? value : shortFor(variable, value));
  // What is shown may be rounded beyond the end of the range; what counts is not.
  tell(value === null ? NaN : value);
  return make("p", { class: "field" }, make("label", { for: id }, variable.name), box, slide, note);
}

function levelField(variable, i, value, change) {
  const id = `value-${i}`;
  const list = make("select", { id, "data-variable": i, onchange: () => change(i, Number(list.value)) },
    variable.levels.map((level, n) => make("option", { value: n, selected: n === value }, level)));
  return make("p", { class: "field" }, make("label", { for: id }, variable.name), list);
}

function valueFields(report, model, values, change) {
  const used = usedVariables(report, model);
  if (!used.length) return [make("p", {}, `This ${report.kind || "tree"} uses no variable: every sample gets the same answer.`)];
  return used.map((i) => {
    const variable = report.variables[i];
    const field = variable.levels ? levelField : numberField;
    return field(variable, i, values[i], change);
  });
}

// Used variables without a number that they need, and those that go on beyond their range.
function oddValues(report, model, values) {
  const used = usedVariables(report, model).filter((i) => !report.variables[i].levels);
  const name = (i) => report.variables[i].name, isNumber = (i) => Number.isFinite(values[i]);
  const isOutside = (i) => {
    const { lower, span, at } = report.variables[i];
    return !at && isNumber(i) && (values[i] < lower || values[i] > lower + span);
  };
  return {
    missing: used.filter((i) => !isNumber(i) && !report.variables[i].missing).map(name),
    outside: used.filter(isOutside).map(name),
  };
}

function routeText(report, nodes, route, here) {
  const steps = route.slice(0, -1).map((n, place) => {
    const next = route[place + 1];
    return `cut ${nodes[n].cut} ${nodes[n].yes === next ? "yes" : "no"}`;
  });
  const end = route[route.length - 1];
  return `Route by the rules: ${[...steps, `leaf ${targetOf(report).leafName(report, nodes[end])}`].join(" → ")} (${chance(here[end])})`;
}

function outsideNote(outside) {
  return outside.length ? make("p", { class: "warning" }, `Outside the range of training: ${outside.join(", ")}. There it extrapolates.`) : null;
}
