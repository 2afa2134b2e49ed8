// What the page tells of classes; values.js has the same for a quantity.

const EXPECTED = "Share of the training sample that ends in leaves of its own class. Near a cut "
  + "a sample goes both ways and counts in part, so that this is mostly below the accuracy of "
  + "the class predicted. It is what training goes by, and what floors on recall are about.";

function accuracyFigure(report, k) {
  const { data } = report, point = report.points[k];
  if (point.accuracy === undefined) return null;
  return {
    value: percent(point.accuracy), note: choiceNote(report, k) || trainedNote(data, point),
    name: data.is_training ? "accuracy on the rows of training" : "accuracy on the data shown",
    about: `Share of the ${rowsShown(report)} whose predicted class is the true one.${data.is_training ? " On new rows it is mostly lower." : ""}`,
  };
}

// Accuracy on rows that were held out of training, one fold after the other.
function heldOutFigure({ training: told }) {
  if (told.cv_accuracy === undefined) return null;
  const score = told.cv_scoring === "accuracy" ? "" : `; it was chosen by its score there: ${crossValidated(told)}`;
  return {
    value: percent(told.cv_accuracy), name: `accuracy in cross-validation, ${count(told.cv_folds, "fold")}`,
    about: `Trees of the same settings, trained without the rows that they were measured on${score}. A little optimistic for the best of many.`,
  };
}

// Of trees that know it, what is predicted on the rows of training; of others what is expected.
function trainingFigure(report, point) {
  if (point.training_accuracy === undefined) return expectedFigure(point);
  if (report.data.is_training) return null;
  return {
    value: percent(point.training_accuracy), name: "accuracy on the rows of training",
    about: "Share of the rows of training whose predicted class is the true one. On new rows it is mostly lower.",
  };
}

function expectedFigure(point) {
  if (point.expected_accuracy === null) return null;
  return { value: percent(point.expected_accuracy), name: "expected accuracy in training", about: EXPECTED };
}

function baselineFigure(report) {
  const { baseline, baseline_class: k, n_shown: n } = report.data, name = report.classes[k];
  const where = n === null ? "in training" : "in the data shown";
  return {
    value: percent(baseline), name: `would be right by always saying ${name}`,
    about: `Share of the largest class ${where}: a tree is worth something if its accuracy is above this.`,
  };
}

function floorFigures(report, point) {
  const { min_recall: asked = [], recall, loss } = point.training, what = loss === "log" ? "recall" : "expected recall";
  return report.classes.map((name, k) => [name, (recall || point.expected_recall)[k], asked[k] || 0])
    .filter(([, , floor]) => floor > 0).slice(0, 4)
    .map(([name, expected, floor]) => ({
      value: percent(expected), name: `${what} of ${name} in training, at least ${percent(floor, 0)} asked`,
    }));
}

function classFigures(report, k) {
  const point = report.points[k], { data } = report;
  // The two accuracies of training side by side; on other rows first what they can be held to.
  const ofTraining = data.is_training || data.n_shown === null;
  const others = [trainingFigure(report, point), baselineFigure(report)];
  return [accuracyFigure(report, k), heldOutFigure(point), ...(ofTraining ? others : others.reverse())];
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

// What a leaf says of the classes, where that is not what its rows are.
function saysText(report, entry) {
  if (!entry.says) return "";
  const total = sumOf(entry.mass) || 1;
  const same = entry.says.every((share, k) => Math.abs(share - entry.mass[k] / total) <= 0.01);
  return same ? "" : ` It says ${mixText(report, entry.says)}.`;
}

function leafClasses(report, entry) {
  const rows = report.classes.map((name, k) => [
    name, percent(entry.mass[k] / (sumOf(entry.mass) || 1)),
    entry.found ? String(entry.found.counts[k]) : "–",
  ]);
  return [scrolling("Classes in the leaf", table(["class", "share in training", "samples shown"], rows), "scroll tall")];
}

function classSides(report, { yes, no }) {
  return {
    head: ["side", "samples", "classes"],
    rows: [["yes", String(sumOf(yes)), mixText(report, yes)], ["no", String(sumOf(no)), mixText(report, no)]],
  };
}

function comparedRecalls(report, shown) {
  return {
    label: "Recalls", caption: shown.recall ? "Recall on the data shown (expected in training)" : "Recall expected in training",
    rows: report.classes.map((name, c) => [name, (p) => (
      p.recall ? `${percent(p.recall[c])} (${percent(p.expected_recall[c])})` : percent(p.expected_recall[c]))]),
  };
}

function answerNote(model) {
  if (model.note) return `${model.note}${model.decision_cost ? " Predicted is the class of least expected cost." : ""}`;
  const calibrated = "Probabilities calibrated on rows held out.";
  const own = "Probabilities as the tree was trained; not calibrated on rows held out.";
  return `${model.calibration ? calibrated : own}${model.decision_cost ? " Predicted is the class of least expected cost." : ""}`;
}

function answerBars(report, model, proba, route, outside) {
  return [
    make("p", { class: "predicted" }, "Predicted: ", make("strong", {}, report.classes[predictedClass(model, proba)])),
    make("dl", { class: "bars" }, proba.map((value, k) => make("div", {},
      make("dt", {}, report.classes[k]),
      make("dd", { "data-proba": value },
        make("span", { class: "meter", "aria-hidden": "true" },
          make("span", { style: `width: ${(100 * value).toFixed(2)}%; background: ${classColour(k)}` })),
        " ", make("span", { class: "share" }, chance(value)))))),
    make("p", { class: "route" }, route),
    outsideNote(outside),
    make("p", { class: "note" }, answerNote(model)),
  ].filter(Boolean);
}

const CLASSES = {
  kind: "class", scoreName: "accuracy", scoreText: (value) => percent(value), part: "a cut",
  measured: "Accuracy and recalls", words: {},
  // Accuracy on the data shown, else as expected in training.
  score: (point) => (point.accuracy === undefined ? point.expected_accuracy : point.accuracy),
  subject: (report) => count(report.classes.length, "class", "classes"),
  colour: (report, k) => classColour(k),
  heat: () => [["accuracy", "accuracy", CLASSES.score, (value) => percent(value)]],
  compared: (shown) => [
    ["accuracy on the data shown", (p) => percent(p.accuracy)],
    shown.training_accuracy === undefined ? ["expected accuracy in training", (p) => percent(p.expected_accuracy)]
      : ["accuracy in training", (p) => percent(p.training_accuracy)],
  ],
  comparedMore: comparedRecalls,
  figures: classFigures,
  floorFigures,
  leafName: (report, entry) => report.classes[entry.label],
  leafTexts: (report, entry) => [report.classes[entry.label]],
  leafBar: (report, entry, width, height) => mixBar(entry.mass, width, height),
  leafWords: (report, entry) => `${mixText(report, entry.mass)}.${saysText(report, entry)}`,
  leafSays: saysText,
  leafTables: leafClasses,
  flowColour: (entry, k) => classColour(k),
  sides: classSides,
  sampleText: (report, { code }) => (code < 0 ? "unknown class" : report.classes[code]),
  answer: (report, model, state, { reach, route, outside }) => (
    answerBars(report, model, classProba(report, model, reach), route, outside)),
  onRows: (report, { probabilities }) => probabilities && describeProbabilities(report, probabilities),
  objective: ({ loss }) => (loss === "log" ? "Objective, log-loss" : "Objective, expected cost"),
  trainingTables: (report, point) => [classTable(report, point), point.confusion ? confusionTable(report, point) : null],
};
