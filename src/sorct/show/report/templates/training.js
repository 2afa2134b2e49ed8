// How a tree was trained: facts, classes and their floors, confusion, variables.

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
    [told.loss === "log" ? "Objective, log-loss" : "Objective, expected cost", `${number(told.objective)}, ${number(told.cost)}`],
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
  return `${turned ? name.slice(minus.length) : name} ${score}${accuracy}`;
}

function floorMet(expected, floor) {
  if (!floor) return "–";
  return expected >= floor - 1e-4 ? "yes" : "no";
}

function classTable(report, point) {
  const told = point.training, data = report.data;
  const head = ["class", "share in training", "floor on recall",
    told.loss === "log" ? "recall, training" : "expected recall, training", "met"];
  if (data.class_counts) head.push("rows shown", "recall on them");
  const rows = report.classes.map((name, k) => {
    const floor = (told.min_recall || [])[k] || 0, expected = (told.recall || point.expected_recall)[k];
    const row = [name, percent(data.class_share[k]), floor ? percent(floor) : "none", percent(expected), floorMet(expected, floor)];
    if (data.class_counts) row.push(String(data.class_counts[k]), percent(point.recall[k]));
    return row;
  });
  return scrolling("Classes and their recall", table(head, rows, "Classes, and how the floors are met"));
}

function confusionTable(report, point) {
  const head = ["true class", ...report.classes.map((name) => `predicted ${name}`)];
  const rows = report.classes.map((name, k) => [name, ...point.confusion[k].map(String)]);
  return scrolling("Confusion", table(head, rows, "Confusion on the data shown"));
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
    classTable(report, point),
    point.confusion ? confusionTable(report, point) : null,
    variableTable(report),
  ];
}
