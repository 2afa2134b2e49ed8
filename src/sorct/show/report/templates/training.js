// How a tree was trained: facts, what the target has to tell, variables.

function trainingFacts(report, point) {
  const told = point.training, data = report.data;
  const sample = `${count(data.n_variables, "variable")} (${count(data.n_columns, "column")} after coding)`;
  const path = report.alphas ? `path of ${count(report.points.length, "tree")}, each from its neighbours` : "–";
  return [
    ["Call", report.call || told.call || "–"],
    ["Training sample", data.n_training ? `${count(data.n_training, "row")}, ${sample}` : sample],
    ["Data shown", data.n_shown === null ? "none" : count(data.n_shown, "row")],
    ["Penalties", `local ${strength(told.alpha_local ?? 0)}, global ${strength(told.alpha_global ?? 0)}`],
    ["Steepness gamma", number(report.gamma)],
    ["Cross-validated score", crossValidated(told)],
    [targetOf(report).objective(told), `${number(told.objective)}, ${number(told.cost)}`],
    ["Residual (0 at a stationary tree)", number(told.residual, 2)],
    ["Ended", told.status || "–"],
    ["Search", told.search || path],
    ["Versions", Object.entries(told.versions || {}).map(([name, v]) => `${name} ${v}`).join(", ") || "–"],
  ];
}

// A score as people tell it: minus the log-loss of -0.3 is a log-loss of 0.3.
function crossValidated(told) {
  if (told.cv_score === undefined) return "–";
  const name = told.cv_scoring || "score", minus = "minus the ", turned = name.startsWith(minus);
  const score = number(turned ? 0 - told.cv_score : told.cv_score, 3);
  const accuracy = told.cv_accuracy === undefined || name === "accuracy" ? "" : `, accuracy ${number(told.cv_accuracy, 3)}`;
  const explained = told.cv_r2 === undefined ? "" : `, R² ${number(told.cv_r2, 3)}`;
  return `${turned ? name.slice(minus.length) : name} ${score}${accuracy}${explained}`;
}

function variableTable(report) {
  const rows = report.variables.map((v) => [v.name, v.levels ? v.levels.join(", ")
    : `${rangeText(v)}${v.missing ? ", or missing" : ""}`]);
  return make("details", {}, make("summary", {}, "Variables"),
    scrolling("Variables", table(["variable", "range or levels in training"], rows)));
}

function describeTraining(report, point) {
  return [
    make("dl", { class: "facts" }, trainingFacts(report, point).map(([name, value]) => (
      make("div", {}, make("dt", {}, name), make("dd", {}, value))))),
    ...targetOf(report).trainingTables(report, point),
    variableTable(report),
  ];
}
