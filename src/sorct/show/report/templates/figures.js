// Key figures of the tree shown, each with what it means behind a question mark.

const EXPECTED = "Share of the training sample that ends in leaves of its own class. Near a cut "
  + "a sample goes both ways and counts in part, so that this is mostly below the accuracy of "
  + "the class predicted. It is what training goes by, and what floors on recall are about.";

function accuracyFigure(report, k) {
  const { data } = report, point = report.points[k];
  if (point.accuracy === undefined) return null;
  const rows = data.is_training ? "rows of training" : `${count(data.n_shown, "row")} given to this report`;
  return {
    value: percent(point.accuracy), note: choiceNote(report, k) || trainedNote(data, point),
    name: data.is_training ? "accuracy on the rows of training" : "accuracy on the data shown",
    about: `Share of the ${rows} whose predicted class is the true one.${data.is_training ? " On new rows it is mostly lower." : ""}`,
  };
}

// Whoever compares trees on rows, and takes a good one, hears too good a figure from these rows.
function choiceNote(report, k) {
  if (!report.alphas) return null;
  if (k !== report.chosen) return "optimistic if you choose by it";
  return report.chosen_on_rows ? "chosen on these rows: optimistic" : null;
}

function trainedNote(data, point) {
  return data.is_training && point.training.cv_score !== undefined ? "trained and chosen on these rows: optimistic" : null;
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

function keyFigures(report, k) {
  const point = report.points[k], { data } = report;
  // The two accuracies of training side by side; on other rows first what they can be held to.
  const ofTraining = data.is_training || data.n_shown === null;
  const others = [trainingFigure(report, point), baselineFigure(report)];
  return [
    accuracyFigure(report, k), heldOutFigure(point), ...(ofTraining ? others : others.reverse()),
    { value: `${point.n_variables} of ${report.data.n_variables}`, name: "variables used" },
    { value: String(point.most_per_cut), name: "variables in a cut at most" },
    ...floorFigures(report, point),
  ].filter(Boolean);
}

// A question mark that tells more while it is pointed at or has the focus.
function aboutButton(name, text, n, tip) {
  const id = `about-${n}`, show = () => tip.show([text], button), told = make("span", { id, hidden: true }, text);
  const button = make("button", {
    type: "button", class: "about", "aria-label": `About: ${name}`, "aria-describedby": id,
    onfocus: show, onclick: show, onpointerenter: show, onblur: tip.hide, onpointerleave: tip.hide,
  }, "?");
  return [button, told];
}

function figureItems(report, k, tip) {
  return keyFigures(report, k).map(({ value, name, about, note }, n) => make("li", {},
    make("strong", {}, value), " ", name,
    note ? make("em", {}, ` (${note})`) : null,
    about ? [" ", ...aboutButton(name, about, n, tip)] : null));
}
