// The page: one state, and what follows from it.

const report = JSON.parse(byId("report-data").textContent);
const state = { point: report.chosen, values: firstValues(report), sample: report.samples.length ? 0 : -1, along: null, goal: null };
let picture = null, frontier = null, heatmap = null, sqlTexts = null;

function shownPoint() { return report.points[state.point]; }
function shownTree() { return report.trees[shownPoint().tree]; }

function showPoint(k) {
  state.point = k;
  showFigures();
  showTree();
  showForm();
  showOnRows();
  byId("rules-text").textContent = shownTree().rules;
  put("training-body", describeTraining(report, shownPoint()));
  if (report.alphas) markPoint();
}

// -- key figures ---------------------------------------------------------------------------

function showFigures() { put("figures", figureItems(report, state.point, { show: showTip, hide: hideTip })); }

// -- the tree ------------------------------------------------------------------------------

const WIDE = 800;

function showTree() {
  hideTip();
  const { counted, note } = shownTree();
  // Of one tree leaves tell rows, of another shares that are expected.
  report.counted = counted;
  byId("tree-note").textContent = note;
  byId("tree-note").hidden = !note;
  const drawn = drawTree(report, shownTree(), { select: selectNode, point: pointAt, leave: hideTip });
  picture = drawn.picture;
  put("drawing", picture);
  byId("tree").classList.toggle("wide", drawn.width > WIDE);
  const frame = byId("drawing");
  frame.scrollLeft = (frame.scrollWidth - frame.clientWidth) / 2;
  selectNode(0);
}

function selectNode(n) {
  picture.querySelectorAll(".hit").forEach((button, place) => button.setAttribute("aria-pressed", String(place === n)));
  put("detail", describeNode(report, shownTree(), n, startFrom));
}

function pointAt(n, button) {
  const entry = shownTree().nodes[n];
  if (entry.label === undefined) return;
  showTip(leafTip(report, entry), button);
  button.setAttribute("aria-describedby", "tip");
}

// -- what probabilities, or numbers, are worth -----------------------------------------------

function showOnRows() {
  const told = targetOf(report).onRows(report, shownTree(), shownPoint());
  byId("probabilities").hidden = !told;
  if (told) put("probabilities-body", told);
}

// -- the trade-off -------------------------------------------------------------------------

function showTradeoff() {
  if (!report.alphas) return;
  byId("tradeoff").hidden = false;
  const slider = byId("most");
  report.byCost = false;
  fitSlider();
  byId("by-cost-label").hidden = report.points.some((point) => point.spent === undefined);
  byId("by-cost").addEventListener("change", (event) => {
    report.byCost = event.target.checked;
    fitSlider();
    put("most-ticks", countTicks(report));
    showFrontier();
    markPoint();
  });
  slider.addEventListener("input", () => showPoint(bestWithin(report, Number(slider.value))));
  put("most-ticks", countTicks(report));
  byId("quantity").append(...heatChoices(report).map(([key, label]) => make("option", { value: key }, label)));
  byId("quantity").addEventListener("change", () => { showHeatmap(); markPoint(); });
  window.addEventListener("resize", () => {
    if (chartWidth() === frontier.width) return;
    put("most-ticks", countTicks(report));
    showFrontier();
    markPoint();
  });
  showFrontier();
  showHeatmap();
}

function fitSlider() {
  const slider = byId("most"), sizes = usedCounts(report);
  slider.step = report.byCost ? "any" : "1";
  slider.min = sizes[0];
  slider.max = sizes[sizes.length - 1];
}

// The chart is drawn at the width it has, so that its text keeps its size.
function chartWidth() { return Math.min(Math.max(byId("frontier").clientWidth, 280), 620); }

function showFrontier() {
  const width = chartWidth();
  frontier = { ...drawFrontier(report, width, showPoint), width };
  put("frontier", frontier.picture);
}

function showHeatmap() {
  heatmap = drawHeatmap(report, byId("quantity").value, showPoint);
  put("heatmap", heatmap.grid, heatmap.legend);
}

function markPoint() {
  const slider = byId("most"), point = shownPoint(), { places } = frontier;
  if (document.activeElement !== slider) slider.value = sizeOf(report, point);
  byId("most-value").textContent = limitText(report, Number(slider.value));
  byId("most-none").textContent = noTreeText(report, Number(slider.value), point);
  byId("shown").textContent = `Shown: ${pointName(report, point)}${state.point === report.chosen ? " (the chosen tree)" : ""}.`;
  markItems(frontier.marks, "aria-checked", (n) => places[n].includes(state.point), (n) => places[n].includes(report.chosen));
  const pointOf = (n) => Number(heatmap.cells[n].dataset.point);
  markItems(heatmap.cells, "aria-selected", (n) => pointOf(n) === state.point, (n) => pointOf(n) === report.chosen);
  const { figures, more } = compareTables(report, state.point);
  put("comparison", figures);
  put("recalls", more);
}

// -- what if -------------------------------------------------------------------------------

function showForm() {
  const fields = valueFields(report, shownTree().model, state.values, (i, value) => {
    state.values[i] = value;
    state.sample = -1;
    if (byId("sample")) byId("sample").value = "-1";
    showAnswer();
  });
  const focused = document.activeElement.id;
  put("values", sampleField(report, state.sample, startFrom), fields);
  if (focused === "sample") byId("sample").focus();
  showAnswer();
}

function startFrom(place) {
  state.sample = place;
  if (place >= 0) state.values = report.samples[place].values.slice();
  showForm();
}

function showAnswer() {
  const tree = shownTree(), odd = oddValues(report, tree.model, state.values);
  if (odd.missing.length) {
    put("answer", [make("p", { class: "warning" }, `No answer: a number is missing for ${odd.missing.join(", ")}.`)]);
    return;
  }
  const reach = nodeReach(report, tree.model, state.values);
  const here = shownReach(tree, reach), route = routeOf(report, tree, state.values);
  const told = { reach, route: routeText(report, tree.nodes, route, here), outside: odd.outside };
  put("answer", targetOf(report).answer(report, tree.model, state, told));
  lightRoute(picture, route, here);
}

// -- copies --------------------------------------------------------------------------------

// The tree as Tree.from_dict reads it; what all trees share is kept as it was written.
function modelJson() {
  const own = JSON.stringify({ ...shownTree().model, training: shownPoint().training });
  return `${report.common.slice(0, -1)}, ${own.slice(1)}`;
}

async function sqlText() {
  if (shownTree().no_sql) throw new Error(shownTree().no_sql);
  sqlTexts = sqlTexts || unpack(byId("report-sql").textContent);
  return (await sqlTexts)[shownPoint().tree];
}

function showCopies() {
  const kinds = [["Rules", async () => shownTree().rules], ["SQL", sqlText], ["JSON", async () => modelJson()]];
  byId("copies").append(...kinds.map(([name, read]) => make("button", {
    type: "button", "data-copy": name, onclick: () => copy(name, read),
  }, `Copy ${name === "Rules" ? "rules" : name}`)));
}

// -- begin ---------------------------------------------------------------------------------

function showLead() {
  const target = targetOf(report);
  const rule = report.alphas && report.by_default
    ? ` Chosen at first: the fewest variables within a standard error of the best ${target.scoreName}.` : "";
  byId("lead").textContent = `${target.subject(report)}, ${count(report.data.n_variables, "variable")}, ${count(report.points.length, "tree")}.${whereMeasured(report)}${rule}`;
  showLegend(report);
  for (const [id, text] of Object.entries(target.words)) byId(id).textContent = text;
}

listen();
showLead();
showCopies();
showTradeoff();
showPoint(report.chosen);
document.documentElement.dataset.ready = "yes";
