// The page: one state, and what follows from it.

const report = JSON.parse(byId("report-data").textContent);
const state = { point: report.chosen, values: firstValues(report), sample: report.samples.length ? 0 : -1 };
let picture = null, frontier = null, heatmap = null;

function shownPoint() { return report.points[state.point]; }
function shownTree() { return report.trees[shownPoint().tree]; }

function showPoint(k) {
  state.point = k;
  showFigures();
  showTree();
  showForm();
  showRules();
  showTraining();
  if (report.alphas) markPoint();
}

// -- key figures ---------------------------------------------------------------------------

function showFigures() {
  const point = shownPoint();
  const figures = [
    [percent(accuracyOf(point)), point.accuracy === undefined ? "expected accuracy in training" : "accuracy on the data shown"],
    [`${point.n_variables} of ${report.data.n_variables}`, "variables used"],
    [String(point.most_per_cut), "variables in a cut at most"],
  ].concat(floors(point).map(([name, expected, floor]) => [
    percent(expected), `expected recall of ${name}, at least ${percent(floor, 0)} asked`,
  ]));
  byId("figures").replaceChildren(...figures.map(([value, label]) => make("li", {}, make("strong", {}, value), " ", label)));
}

function floors(point) {
  const asked = point.training.min_recall || [];
  return report.classes.map((name, k) => [name, point.expected_recall[k], asked[k] || 0])
    .filter(([, , floor]) => floor > 0).slice(0, 4);
}

// -- the tree ------------------------------------------------------------------------------

function showTree() {
  const tree = shownTree();
  picture = drawTree(report, tree, { select: selectNode, point: pointAt, leave: hideTip });
  byId("drawing").replaceChildren(picture);
  selectNode(0);
}

function selectNode(n) {
  picture.querySelectorAll(".node").forEach((node) => {
    node.setAttribute("aria-pressed", String(Number(node.dataset.node) === n));
  });
  byId("detail").replaceChildren(...describeNode(report, shownTree(), n, startFrom).filter(Boolean));
}

function pointAt(n, node) {
  const entry = shownTree().nodes[n];
  if (entry.label === undefined) return;
  const tip = byId("tip"), box = node.getBoundingClientRect();
  tip.replaceChildren(...leafTip(report, entry).map((line) => make("span", {}, line)));
  tip.hidden = false;
  const left = Math.min(Math.max(box.left, 8), Math.max(window.innerWidth - tip.offsetWidth - 8, 8));
  tip.style.left = `${left + window.scrollX}px`;
  tip.style.top = `${box.bottom + 6 + window.scrollY}px`;
}

function hideTip() { byId("tip").hidden = true; }

// -- the trade-off -------------------------------------------------------------------------

function showTradeoff() {
  if (!report.alphas) return;
  byId("tradeoff").hidden = false;
  const counts = report.points.map((point) => point.n_variables);
  const slider = byId("most");
  slider.min = Math.min(...counts);
  slider.max = Math.max(...counts);
  slider.addEventListener("input", () => showPoint(bestWithin(report, Number(slider.value))));
  frontier = drawFrontier(report, showPoint);
  byId("frontier").replaceChildren(frontier.picture);
  const list = byId("quantity");
  list.append(...QUANTITIES.map(([key, label]) => make("option", { value: key }, label)));
  list.addEventListener("change", showHeatmap);
  showHeatmap();
}

function showHeatmap() {
  heatmap = drawHeatmap(report, byId("quantity").value, showPoint);
  byId("heatmap").replaceChildren(heatmap.grid, heatmap.legend);
  markPoint();
}

function markPoint() {
  const slider = byId("most"), point = shownPoint();
  if (document.activeElement !== slider) slider.value = point.n_variables;
  byId("most-value").textContent = count(Number(slider.value), "variable");
  const mark = (items, name) => {
    let current = 0;
    items.forEach((item, n) => {
      const k = Number(item.dataset.point);
      item.setAttribute(name, String(k === state.point));
      item.classList.toggle("shown", k === state.point);
      item.classList.toggle("chosen", k === report.chosen);
      if (k === state.point) current = n;
    });
    rove(items, current);
  };
  mark(frontier.marks, "aria-checked");
  if (heatmap) mark(heatmap.cells, "aria-selected");
  byId("comparison").replaceChildren(compareTable(report, state.point));
}

// -- what if -------------------------------------------------------------------------------

function showForm() {
  const fields = valueFields(report, shownTree().model, state.values, (i, value) => {
    state.values[i] = value;
    state.sample = -1;
    const list = byId("sample");
    if (list) list.value = "-1";
    showAnswer();
  });
  byId("values").replaceChildren(...[sampleField(report, state.sample, startFrom), ...fields].filter(Boolean));
  showAnswer();
}

function startFrom(place) {
  state.sample = place;
  if (place >= 0) state.values = report.samples[place].values.slice();
  showForm();
}

function showAnswer() {
  const tree = shownTree(), reach = nodeReach(report, tree.model, state.values);
  const proba = classProba(report, tree.model, reach);
  byId("answer").replaceChildren(...answerBars(report, proba));
  lightRoute(picture, tree, reach);
}

// -- rules, copies -------------------------------------------------------------------------

function modelJson() {
  return JSON.stringify({ ...report.common, ...shownTree().model, training: shownPoint().training }, null, 1);
}

function showRules() { byId("rules-text").textContent = shownTree().rules; }

async function copy(name, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "offstage" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  byId("copied").textContent = `${name} copied.`;
}

function showCopies() {
  const kinds = [["Rules", () => shownTree().rules], ["SQL", () => shownTree().sql], ["JSON", modelJson]];
  byId("copies").append(...kinds.map(([name, read]) => make("button", {
    type: "button", "data-copy": name, onclick: () => copy(name, read()),
  }, `Copy ${name === "Rules" ? "rules" : name}`)));
}

// -- how it was trained --------------------------------------------------------------------

function showTraining() {
  const point = shownPoint(), told = point.training, data = report.data;
  const facts = [
    ["Call", report.call || told.call || "–"],
    ["Training sample", data.n_training ? `${data.n_training} rows, ${data.n_variables} variables (${count(data.n_columns, "column")} after coding)` : `${data.n_variables} variables`],
    ["Data shown", data.n_shown === null ? "none" : `${data.n_shown} rows`],
    ["Penalties", `local ${strength(told.alpha_local ?? 0)}, global ${strength(told.alpha_global ?? 0)}`],
    ["Steepness gamma", number(report.common.gamma)],
    ["Objective, expected cost", `${number(told.objective)}, ${number(told.cost)}`],
    ["Residual (0 at a stationary tree)", number(told.residual, 2)],
    ["Ended", told.status || "–"],
    ["Search", told.search || (report.alphas ? `path of ${count(report.points.length, "tree")}, each from its neighbours` : "–")],
    ["Versions", Object.entries(told.versions || {}).map(([name, v]) => `${name} ${v}`).join(", ") || "–"],
  ];
  const head = ["class", "share in training", "floor on recall", "expected recall, training", "met"];
  if (data.class_counts) head.push("rows shown", "recall on them");
  const rows = report.classes.map((name, k) => {
    const floor = (told.min_recall || [])[k] || 0, expected = (told.recall || point.expected_recall)[k];
    const row = [name, percent(data.class_share[k]), floor ? percent(floor) : "none", percent(expected),
      floor ? (expected >= floor - 1e-4 ? "yes" : "no") : "–"];
    if (data.class_counts) row.push(String(data.class_counts[k]), point.recall ? percent(point.recall[k]) : "–");
    return row;
  });
  const parts = [
    make("dl", { class: "facts" }, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    scrolling("Classes and their recall", table(head, rows, "Classes, and how the floors are met")),
  ];
  if (point.confusion) {
    parts.push(scrolling("Confusion", table(["true class", ...report.classes.map((name) => `predicted ${name}`)],
      report.classes.map((name, k) => [name, ...point.confusion[k].map(String)]), "Confusion on the data shown")));
  }
  parts.push(make("details", {}, make("summary", {}, "Variables"), scrolling("Variables", table(["variable", "range or levels in training"],
    report.variables.map((v) => [v.name, v.levels ? v.levels.join(", ") : `${number(v.lower, 6)} to ${number(v.lower + v.span, 6)}`])))));
  byId("training-body").replaceChildren(...parts);
}

function scrolling(label, child) {
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, child);
}

// -- begin ---------------------------------------------------------------------------------

function showLead() {
  const where = report.data.n_shown === null ? "" : ` Accuracy and recalls are measured on the ${report.data.n_shown} rows it was made with.`;
  const rule = report.alphas && report.by_default
    ? " Chosen at first: the fewest variables within a standard error of the best accuracy." : "";
  byId("lead").textContent = `${count(report.classes.length, "class", "classes")}, ${count(report.data.n_variables, "variable")}, ${count(report.points.length, "tree")}.${where}${rule}`;
  byId("legend").replaceChildren(...report.classes.map((name, k) => make("li", {},
    make("span", { style: `background: ${classColour(k)}`, "aria-hidden": "true" }), name)));
}

showLead();
showCopies();
showTradeoff();
showPoint(report.chosen);
document.documentElement.dataset.ready = "yes";
