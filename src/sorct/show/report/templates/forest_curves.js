// The variables of a forest: how much each matters, and what is said as it moves.

// Of two classes the second is told, of a quantity the prediction, else every class.
function toldRows(report) {
  if (!report.classes.length || report.task === "quantity") return [0];
  return report.classes.length === 2 ? [1] : report.classes.map((_, k) => k);
}

function saidText(report, value) {
  return report.task === "quantity" ? valueText(report, value) : percent(value);
}

function saidColour(report, k) { return report.task === "quantity" ? "var(--accent)" : classColour(k); }

// -- importance ------------------------------------------------------------------------------

function importanceTable(report) {
  const most = Math.max(...report.used.map((one) => one.importance), 1e-9);
  const rows = report.used.map((one) => [
    report.variables[one.variable].name,
    make("span", { class: "weighed" },
      make("span", { class: "meter", "aria-hidden": "true" },
        make("span", { style: `width: ${((100 * one.importance) / most).toFixed(1)}%; background: var(--accent)` })),
      make("span", { class: "share" }, percent(one.importance))),
    `${one.n_trees} of ${report.n_trees}`,
    one.direction || "–",
    number(one.drop, 2), number(one.permutation, 2),
  ]);
  const head = ["variable", "importance", "trees", "direction", "loss rises, held", "out of bag"];
  return scrolling("Variables and their importance", table(head, rows));
}

// -- curves ----------------------------------------------------------------------------------

const CURVE = { width: 260, height: 120 };

// One scale for all curves of a forest, so that they compare.
function curveScale(report) {
  if (report.task !== "quantity") return [0, 1];
  const all = report.used.flatMap(({ curve }) => [...curve.said.flat(), ...(curve.missing || [])]);
  const low = Math.min(...all), high = Math.max(...all);
  return high > low ? [low, high] : [low - 1, high + 1];
}

function numberCurve(report, used, value) {
  const { curve, variable: i } = used, variable = report.variables[i], { width, height } = CURVE;
  const [low, high] = curveScale(report), { numbers: at, places } = curve, end = at.length - 1, first = at[0], last = at[end];
  // Along the scale of training, which for a long tail goes by quantiles.
  const x = (n) => width * places[n], placed = (one) => width * along(at, places, one);
  const middle = places.reduce((best, place, n) => (Math.abs(place - 0.5) < Math.abs(places[best] - 0.5) ? n : best), 0);
  const y = (one) => height * (1 - (one - low) / (high - low));
  const lines = toldRows(report).map((k) => shape("polyline", {
    points: at.map((_, n) => `${x(n).toFixed(2)},${y(curve.said[k][n]).toFixed(2)}`).join(" "),
    class: "curve", stroke: saidColour(report, k),
  }));
  const lacking = curve.missing ? toldRows(report).map((k) => shape("circle", {
    cx: width + 14, cy: y(curve.missing[k]), r: 3.5, fill: saidColour(report, k) })) : [];
  const here = Number.isFinite(value) && value >= first && value <= last
    ? shape("line", { x1: placed(value), x2: placed(value), y1: 0, y2: height, class: "threshold" }) : null;
  const text = (one) => (variable.origin ? dayText(variable, one) : number(one, digitsFor(one, (last - first) / 100)));
  return shape("svg", {
    viewBox: `-58 -8 ${width + 92} ${height + 42}`, class: "partial", role: "img",
    "aria-label": `${variable.name}: from ${saidText(report, curve.said[toldRows(report)[0]][0])} to ${saidText(report, curve.said[toldRows(report)[0]][at.length - 1])}`,
  },
  shape("rect", { x: 0, y: 0, width, height, class: "frame" }), here, lines, lacking,
  [low, high].map((one) => shape("text", { x: -4, y: y(one) + 4, "text-anchor": "end" }, report.task === "quantity" ? valueText(report, one) : percent(one, 0))),
  [["start", 0], ...(middle > 0 && middle < end ? [["middle", middle]] : []), ["end", end]].map(([anchor, n]) => (
    shape("text", { x: x(n), y: height + 16, "text-anchor": anchor }, text(at[n])))),
  curve.missing ? shape("text", { x: width + 34, y: height + 30, "text-anchor": "end" }, "missing") : null);
}

// Levels: a bar each, or with several classes a table.
function levelCurve(report, { curve, variable: i }, value) {
  const rows = toldRows(report), [low, high] = curveScale(report), name = (n) => (n === value ? "current" : "");
  if (rows.length > 1) {
    return scrolling(`What is said at levels of ${report.variables[i].name}`,
      table(["", ...report.classes], curve.at.map((level, n) => [level, ...rows.map((k) => percent(curve.said[k][n]))])), "scroll tall");
  }
  return scrolling(`What is said at levels of ${report.variables[i].name}`, make("dl", { class: "bars" }, curve.at.map((level, n) => {
    const said = curve.said[rows[0]][n];
    return make("div", {}, make("dt", { class: name(n) }, level), make("dd", {},
      make("span", { class: "meter", "aria-hidden": "true" }, make("span", {
        style: `width: ${((100 * (said - low)) / (high - low)).toFixed(1)}%; background: ${saidColour(report, rows[0])}` })),
      make("span", { class: "share" }, saidText(report, said))));
  })), "scroll tall");
}

function partialCurves(report, values) {
  const what = report.task === "quantity" ? "prediction" : report.classes.length === 2 ? `probability of ${report.classes[1]}` : "probabilities";
  return report.used.map((used) => {
    const variable = report.variables[used.variable], value = values[used.variable];
    return make("figure", {},
      make("figcaption", {}, variable.name, " ", make("small", {}, what)),
      used.curve.numbers ? numberCurve(report, used, value) : levelCurve(report, used, value));
  });
}
