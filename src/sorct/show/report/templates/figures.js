// Key figures of the tree shown, each with what it means behind a question mark.

// Whoever compares trees on rows, and takes a good one, hears too good a figure from these rows.
function choiceNote(report, k) {
  if (!report.alphas) return null;
  if (k !== report.chosen) return "optimistic if you choose by it";
  return report.chosen_on_rows ? "chosen on these rows: optimistic" : null;
}

function trainedNote(data, point) {
  if (data.may_be_training) return "optimistic if rows of training are among these";
  return data.is_training && point.training.cv_score !== undefined ? "trained and chosen on these rows: optimistic" : null;
}

// What the lead says of the rows that figures are measured on.
function whereMeasured(report) {
  const { data } = report;
  if (data.n_shown === null) return "";
  const caveat = data.is_training ? ", which says little of new rows"
    : data.may_be_training ? `. The ${count(data.n_training, "row")} of training may be among them, and this page cannot tell: if they are, that says little of new rows` : "";
  return ` ${targetOf(report).measured} are measured on the ${rowsShown(report)}${caveat}.`;
}

function rowsShown({ data }) {
  return data.is_training ? "rows of training" : `${count(data.n_shown, "row")} given to this report`;
}

function keyFigures(report, k) {
  const point = report.points[k], target = targetOf(report);
  return [
    ...target.figures(report, k),
    { value: `${point.n_variables} of ${report.data.n_variables}`, name: "variables used" },
    { value: String(point.most_per_cut), name: `variables in ${target.part} at most` },
    ...target.floorFigures(report, point),
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
