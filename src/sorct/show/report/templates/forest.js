// The page of a forest: one row of values, and what all trees say of it.

const report = JSON.parse(byId("report-data").textContent);
const target = targetOf(report), isQuantity = report.task === "quantity";
const state = { values: firstValues(report), sample: report.samples.length ? 0 : -1 };

// What the form and the checks of values need to know: which columns some tree uses.
const joint = {
  coef: report.columns.map((_, j) => [report.trees.reduce((sum, { coef }) => sum + sumOf(coef[j].map(Math.abs)), 0)]),
  leaf_coef: report.columns.map((_, j) => [report.trees.reduce((sum, one) => sum + (one.leaf_coef ? sumOf(one.leaf_coef[j].map(Math.abs)) : 0), 0)]),
  decision_cost: report.decision_cost,
  note: `Mean of the probabilities of ${count(report.n_trees, "tree")}.`,
};

// -- what is said ----------------------------------------------------------------------------

function saidByTree(model, values) {
  const reach = nodeReach(report, model, values);
  return isQuantity ? [mixedValue(report, model, values, reach)] : classProba(report, model, reach);
}

// Of logarithms the mean comes first.
function saidByAll(values) {
  const each = report.trees.map((model) => saidByTree(model, values));
  const mean = each[0].map((_, k) => each.reduce((sum, said, b) => sum + report.weights[b] * said[k], 0));
  if (!isQuantity) return { each, mean };
  return { each: each.map(([said]) => [toldValue(report, said)]), mean: [toldValue(report, mean[0])] };
}

function agreementOf({ each, mean }) {
  if (isQuantity) return Math.sqrt(each.reduce((sum, [said], b) => sum + report.weights[b] * (said - mean[0]) ** 2, 0));
  const chosen = predictedClass(joint, mean);
  return each.reduce((sum, said, b) => sum + (predictedClass({ decision_cost: report.trees[b].decision_cost }, said) === chosen ? report.weights[b] : 0), 0);
}

function agreementText(said) {
  const share = agreementOf(said), n = count(report.n_trees, "tree");
  return isQuantity ? `What the ${n} say has a standard deviation of ${valueText(report, share)}.`
    : `${percent(share, 0)} of the ${n} alone say the same.`;
}

// A tick per tree on the range of what can be said.
function doubtStrip({ each, mean }) {
  const k = isQuantity ? 0 : predictedClass(joint, mean), width = 300;
  const values = each.map((said) => said[k]);
  let [low, high] = isQuantity ? [Math.min(...values), Math.max(...values)] : [0, 1];
  if (isQuantity) {
    const { low: least, high: most } = report.quantity;
    [low, high] = [Math.min(low, least), Math.max(high, most)];
  }
  const x = (one) => (high > low ? (width * (one - low)) / (high - low) : width / 2);
  const what = isQuantity ? "What each tree says, within the range of training" : `What each tree says of ${report.classes[k]}`;
  return make("figure", {}, make("figcaption", {}, make("small", {}, what)),
    shape("svg", { viewBox: `-8 0 ${width + 16} 44`, class: "strip", role: "img", "aria-label": agreementText({ each, mean }) },
      shape("line", { x1: 0, x2: width, y1: 14, y2: 14, class: "axis" }),
      values.map((one) => shape("line", { x1: x(one), x2: x(one), y1: 5, y2: 23, class: "vote" })),
      shape("circle", { cx: x(mean[k]), cy: 14, r: 5, class: "middle" }),
      [low, high].map((one, n) => shape("text", { x: x(one), y: 40, "text-anchor": n ? "end" : "start" }, isQuantity ? valueText(report, one) : percent(one, 0)))));
}

// What would be said were one value typical, the largest change first.
function influences(said) {
  const k = isQuantity ? 0 : predictedClass(joint, said.mean), here = said.mean[k];
  return usedVariables(report, joint).map((i) => {
    const typical = report.variables[i].typical;
    const without = saidByAll(withValue(state.values, i, typical)).mean[k];
    return { i, without, change: here - without };
  }).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
}

function cellText(variable, value) {
  if (variable.levels) return variable.levels[value];
  if (value === null) return "missing";
  return variable.origin ? dayText(variable, value) : number(value, digitsFor(value, variable.span / 100));
}

function influenceTable(said) {
  const what = isQuantity ? "prediction" : `probability of ${report.classes[predictedClass(joint, said.mean)]}`;
  const rows = influences(said).map(({ i, without, change }) => {
    const variable = report.variables[i];
    const sign = change > 0 ? "+" : change < 0 ? "−" : "";
    const size = isQuantity ? valueText(report, Math.abs(change)) : `${(100 * Math.abs(change)).toFixed(1)} points`;
    return [variable.name, cellText(variable, state.values[i]), cellText(variable, variable.typical),
      saidText(report, without), `${sign}${size}`];
  });
  return scrolling("What single values do", table(["variable", "value", "typical", "with the typical one", "so the value adds"], rows, `What single values do to the ${what}`));
}

function showAnswer() {
  const odd = oddValues(report, joint, state.values);
  put("curves-body", partialCurves(report, state.values));
  if (odd.missing.length) {
    put("answer", [make("p", { class: "warning" }, `No answer: a number is missing for ${odd.missing.join(", ")}.`)]);
    put("moves");
    return;
  }
  const said = saidByAll(state.values), doubt = agreementText(said);
  const head = isQuantity ? [
    make("p", { class: "predicted" }, "Predicted: ", make("strong", { "data-said": said.mean[0] }, valueText(report, said.mean[0]))),
    make("p", { class: "route" }, doubt), outsideNote(odd.outside),
  ] : answerBars(report, joint, said.mean, doubt, odd.outside);
  put("answer", head);
  put("moves", influenceTable(said), doubtStrip(said));
}

function showForm() {
  const fields = valueFields(report, joint, state.values, (i, value) => {
    state.values[i] = value;
    state.sample = -1;
    if (byId("sample")) byId("sample").value = "-1";
    showAnswer();
  });
  put("values", sampleField(report, state.sample, startFrom), fields);
  showAnswer();
}

function startFrom(place) {
  state.sample = place;
  if (place >= 0) state.values = report.samples[place].values.slice();
  showForm();
  if (byId("sample")) byId("sample").focus();
}

// -- figures, doubt, training ------------------------------------------------------------------

function forestFigures() {
  const { point, data, training } = report, rows = rowsShown(report);
  const where = data.is_training ? "on the rows of training" : "on the data shown";
  const outOfBag = typeof training.oob_score !== "number" ? null : {
    value: isQuantity ? number(training.oob_score, 3) : percent(training.oob_score),
    name: `${isQuantity ? "R²" : "accuracy"} out of bag`,
    about: "Every row of training by the trees that have not seen it. Where variables were chosen, it was with these rows, so that it can flatter where rows are few.",
  };
  const onRows = isQuantity ? [
    typeof point.r2 === "number" ? { value: number(point.r2, 3), name: `R² ${where}`, about: `Share of the variance of the ${rows} that predictions explain.` } : null,
    point.rmse === undefined ? null : { value: valueText(report, point.rmse), name: `root mean squared error ${where}`, about: `The mean absolute error is ${valueText(report, point.mae)}.` },
    data.base_rmse === undefined ? null : { value: valueText(report, data.base_rmse), name: `root mean squared error of always saying ${valueText(report, data.mean)}, the mean of these rows` },
  ] : [
    point.accuracy === undefined ? null : { value: percent(point.accuracy), name: `accuracy ${where}`, about: `Share of the ${rows} whose predicted class is the true one.${data.is_training ? " On new rows it is mostly lower." : ""}` },
    baselineFigure(report),
  ];
  return [...onRows, outOfBag,
    { value: `${report.used.length} of ${data.n_variables}`, name: "variables used, all trees together" },
    { value: String(report.n_trees), name: `trees of depth ${report.depths.join(", ")}` },
  ].filter(Boolean);
}

function showFigures() {
  put("figures", forestFigures().map(({ value, name, about }, n) => make("li", {},
    make("strong", {}, value), " ", name, about ? [" ", ...aboutButton(name, about, n, { show: showTip, hide: hideTip })] : null)));
}

function showDoubt() {
  if (!report.doubt) return;
  byId("doubt").hidden = false;
  byId("doubt-hint").textContent = isQuantity
    ? "Rows by the standard deviation of what the trees say: where it is large, predictions are mostly further off."
    : "Rows by the share of the trees that alone predict what the forest does: where few agree, it is mostly wrong more often.";
  const head = isQuantity ? ["standard deviation of the trees", "rows", "mean absolute error"] : ["trees that agree", "rows", "predicted right"];
  const rows = report.doubt.map(({ from, to, count: n, right, missed }) => [
    isQuantity ? `${valueText(report, from)} to ${valueText(report, to)}` : from === to ? percent(from, 0) : `${percent(from, 0)} to ${percent(to, 0)}`,
    String(n), isQuantity ? valueText(report, missed) : percent(right)]);
  put("doubt-body", [scrolling("Rows by agreement", table(head, rows))]);
}

function showOnRows() {
  const told = target.onRows(report, report.on_rows, report.point);
  byId("probabilities").hidden = !told;
  if (told) put("probabilities-body", told);
  const { "probabilities-title": title, "probabilities-hint": hint } = target.words;
  if (title) byId("probabilities-title").textContent = title;
  if (hint) byId("probabilities-hint").textContent = hint.replace("a deeper tree", "deeper trees");
}

function showTraining() {
  const told = report.training, { data } = report;
  const facts = [
    ["Call", report.call || "–"],
    ["Training sample", `${data.n_training ? `${count(data.n_training, "row")}, ` : ""}${count(data.n_variables, "variable")} (${count(data.n_columns, "column")} after coding)`],
    ["Data shown", data.n_shown === null ? "none" : count(data.n_shown, "row")],
    ["Penalties", `local ${strength(told.alpha_local ?? 0)}, on variables of the forest ${strength(told.alpha_global ?? 0)}`],
    ["Steepness gamma", number(report.gamma)],
    ["Loss that was minimised", told.loss || "–"],
    ["Loss out of bag", number(told.oob_loss, 3)],
    ["Loss on held-out rows, by which variables were chosen", number(told.cv_loss, 3)],
    ["Ended", told.status || "–"],
    ["Versions", Object.entries(told.versions || {}).map(([name, v]) => `${name} ${v}`).join(", ") || "–"],
  ];
  put("training-body",
    make("dl", { class: "facts" }, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    report.point.confusion ? confusionTable(report, report.point) : null, variableTable(report));
}

function showCopies() {
  const sql = async () => {
    if (report.no_sql) throw new Error(report.no_sql);
    return (await unpack(byId("report-sql").textContent))[0];
  };
  const kinds = [["Summary", async () => report.rules], ["SQL", sql]];
  byId("copies").append(...kinds.map(([name, read]) => make("button", {
    type: "button", "data-copy": name, onclick: () => copy(name, read),
  }, `Copy ${name === "Summary" ? "summary" : name}`)));
}

function showLead() {
  byId("lead").textContent = `${target.subject(report)}, ${count(report.data.n_variables, "variable")}; ${count(report.n_trees, "tree")} answer together.${whereMeasured(report)}`;
  if (!isQuantity && report.classes.length > 2) showLegend(report);
}

listen();
showLead();
showFigures();
put("used-body", report.used.length ? importanceTable(report) : make("p", {}, "This forest uses no variable: every row gets the same answer."));
showForm();
showOnRows();
showDoubt();
byId("rules-text").textContent = report.rules;
showTraining();
showCopies();
document.documentElement.dataset.ready = "yes";
