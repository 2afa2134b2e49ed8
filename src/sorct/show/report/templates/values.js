// What the page tells of a quantity; classes.js has the same for classes.

// A number to the digits that count beside the spread of the quantity.
function valueText({ quantity }, value, step = quantity.spread / 100) {
  if (value === null || value === undefined) return "–";
  return number(value, digitsFor(value, step));
}

function movedText(report, move) { return `${move > 0 ? "+" : ""}${valueText(report, move)}`; }

// From light, the lowest leaf or third, to dark, the highest.
function toneColour(tone) {
  return `color-mix(in srgb, var(--heat-high) ${(25 + 75 * tone).toFixed(1)}%, var(--heat-low))`;
}

function shareOfRange({ quantity: { low, high } }, value) {
  return high > low ? Math.min(Math.max((value - low) / (high - low), 0), 1) : 0.5;
}

// -- key figures ---------------------------------------------------------------------------

function valueFigures(report, k) {
  const point = report.points[k], told = point.training, { data } = report;
  const rows = rowsShown(report), where = data.is_training ? "on the rows of training" : "on the data shown";
  return [
    typeof point.r2 === "number" ? {
      value: number(point.r2, 3), name: `R² ${where}`, note: choiceNote(report, k) || trainedNote(data, point),
      about: `Share of the variance of the ${rows} that predictions explain: 1 is perfect, 0 is what always saying the mean gives.`,
    } : null,
    point.rmse === undefined ? null : {
      value: valueText(report, point.rmse), name: `root mean squared error ${where}`,
      about: `How far predictions are off; large misses count more. The mean absolute error is ${valueText(report, point.mae)}.`,
    },
    data.base_rmse === undefined ? null : {
      value: valueText(report, data.base_rmse), name: `root mean squared error of always saying ${valueText(report, data.mean)}, the mean of these rows`,
      about: `Standard deviation of the ${rows}: a tree is worth something if its error is below this.`,
    },
    told.cv_r2 === undefined ? null : {
      value: number(told.cv_r2, 3), name: `R² in cross-validation, ${count(told.cv_folds, "fold")}`,
      about: `Trees of the same settings, trained without the rows that they were measured on: ${crossValidated(told)}. A little optimistic for the best of many.`,
    },
    point.training_r2 === null || data.is_training ? null : {
      value: number(point.training_r2, 3), name: "R² on the rows of training", about: "On new rows it is mostly lower.",
    },
  ];
}

// -- leaves and sides ------------------------------------------------------------------------

// The range of training, and in it where most rows of a leaf are.
function rangeBar(report, { mean, within, tone }, width, height) {
  const at = (value) => width * shareOfRange(report, value), spread = within || 0;
  const left = at(mean - spread), size = Math.max(at(mean + spread) - left, 3);
  return shape("g", {},
    shape("line", { x1: 0, x2: width, y1: height / 2, y2: height / 2, class: "axis" }),
    shape("rect", { x: Math.min(left, width - 3), y: 0, width: size, height, fill: toneColour(tone), class: "mix" }));
}

function leafWords(report, { mean, miss, words }) {
  return `rows ${miss ? `that miss it by ${miss.slice(2)}` : `with a mean of ${valueText(report, mean)}`}${words ? `; it ${words}` : ""}.`;
}

function leafNumbers(report, entry) {
  const rows = [["mean in training", valueText(report, entry.mean)], ["missed by, in training", valueText(report, entry.within)]];
  if (entry.words) rows.push(["the leaf itself says", entry.words.replace("says ", "")]);
  if (entry.found) {
    rows.push(["rows shown", String(sumOf(entry.found.counts))], ["their mean", valueText(report, entry.found.mean)]);
  }
  const terms = entry.sum ? [
    make("p", { class: "hint" }, report.quantity.link === "log" ? "It says e to the power of a sum, in original units:" : "It says a sum, in original units:"),
    scrolling("Sum of the leaf", make("ul", {}, entry.sum.map((part) => make("li", {}, part.replace("- ", "− ")))), "scroll tall"),
  ] : [];
  return [scrolling("Numbers of the leaf", table(["", ""], rows), "scroll tall"), ...terms];
}

function valueSides(report, { yes, no, means }) {
  const row = (side, counts, mean) => [side, String(sumOf(counts)), valueText(report, mean), mixText(report, counts)];
  return { head: ["side", "samples", "mean", "thirds"], rows: [row("yes", yes, means[0]), row("no", no, means[1])] };
}

// -- on rows -----------------------------------------------------------------------------------

const FIT = 240;

// Places on two axes that hold all values; both may be the same.
function fitScale(values) {
  const low = Math.min(...values), high = Math.max(...values), room = 0.04 * (high - low) || 1;
  return { low, high, at: (value) => (FIT * (value - low + room)) / (high - low + 2 * room) };
}

function fitChart(report, { points, bins }, caption, across, downwards, right) {
  const [x, y] = [across, downwards], left = (value) => x.scale.at(value), top = (value) => FIT - y.scale.at(value);
  const ends = [x.scale.low, x.scale.high];
  return make("figure", {},
    make("figcaption", {}, caption),
    shape("svg", {
      viewBox: `-78 -12 ${FIT + 100} ${FIT + 50}`, class: "histogram", role: "img",
      "aria-label": `${caption}; the means of bins are in the table beside it.`,
    },
    shape("rect", { x: 0, y: 0, width: FIT, height: FIT, class: "frame" }),
    shape("line", { x1: left(ends[0]), x2: left(ends[1]), y1: top(right(ends[0])), y2: top(right(ends[1])), class: "axis" }),
    points.map(([said, seen]) => shape("circle", { cx: left(said), cy: top(y.of(said, seen)), r: 3, class: "row" })),
    bins.flatMap((bin) => [
      shape("line", { x1: left(bin.said), x2: left(bin.said), y1: top(y.ends(bin)[0]), y2: top(y.ends(bin)[1]), class: "spread" }),
      shape("circle", { cx: left(bin.said), cy: top(y.of(bin.said, bin.seen)), r: 5, class: "middle" }),
    ]),
    ends.map((value, n) => shape("text", { x: left(value), y: FIT + 16, "text-anchor": n ? "end" : "start" }, valueText(report, value))),
    [y.scale.low, y.scale.high].map((value) => shape("text", { x: -4, y: top(value) + 4, "text-anchor": "end" }, valueText(report, value))),
    shape("text", { x: FIT / 2, y: FIT + 32, "text-anchor": "middle" }, "predicted")));
}

function describeResiduals(report, { residuals }, point) {
  if (!residuals) return null;
  const { data } = report, { points, bins } = residuals;
  const said = [...points.map(([one]) => one), ...bins.map((bin) => bin.said)];
  const seen = [...points.map(([, one]) => one), ...bins.flatMap((bin) => [bin.seen, bin.low, bin.high])];
  const missed = [0, ...points.map(([a, b]) => b - a), ...bins.flatMap((bin) => bin.missed)];
  const measures = [
    ["R²", number(point.r2, 3), "0"],
    ["root mean squared error", valueText(report, point.rmse), valueText(report, data.base_rmse)],
    ["mean absolute error", valueText(report, point.mae), valueText(report, data.base_mae)],
  ];
  const where = data.is_training ? "the rows of training, which says little of new rows" : count(data.n_shown, "row");
  const numbers = make("div", {},
    scrolling("Measures", table(["", report.kind === "forest" ? "the forest" : "the tree", `always ${valueText(report, data.mean)}, the mean`], measures)),
    make("p", { class: "hint" }, `Measured on ${where}. Small points are the rows listed in this page; large ones the means of equally many rows each, with bars in which four of five are.`),
    bins.length ? make("details", {}, make("summary", {}, "The bins"), binNumbers(report, bins)) : null);
  if (!said.length) return [numbers];
  const both = fitScale([...said, ...seen]), x = { scale: fitScale(said) };
  return [numbers, make("div", { class: "fits" },
    fitChart(report, residuals, "Observed against predicted", { scale: both },
      { scale: both, of: (_, b) => b, ends: (bin) => [bin.low, bin.high] }, (value) => value),
    fitChart(report, residuals, "Residuals: observed minus predicted", x,
      { scale: fitScale(missed), of: (a, b) => b - a, ends: (bin) => bin.missed }, () => 0))];
}

function binNumbers(report, bins) {
  const rows = bins.map((bin) => [valueText(report, bin.said), valueText(report, bin.seen),
    `${valueText(report, bin.low)} to ${valueText(report, bin.high)}`, String(bin.count)]);
  return scrolling("Bins", table(["predicted", "observed", "four of five", "rows"], rows), "scroll tall");
}

// -- training ------------------------------------------------------------------------------------

function quantityTable(report, point) {
  const { low, high, centre, spread } = report.quantity, told = point.training;
  const middle = { absolute: "median", quantile: "quantile" }[told.loss] || "mean";
  const rows = [
    ["least and largest in training", `${valueText(report, low)} and ${valueText(report, high)}`],
    [`${middle} in training`, valueText(report, centre)],
    ["standard deviation in training", valueText(report, spread)],
    ["R² in training", number(point.training_r2, 3)],
    ...(report.quantity.link === "log" ? [["what the tree is of", "the logarithm"]] : []),
  ];
  return scrolling("The quantity", table(["", ""], rows, "The quantity that is predicted"));
}

const LOSSES = {
  square: "squared error", huber: "Huber loss", absolute: "absolute error", quantile: "quantile loss",
};

const QUANTITY = {
  kind: "third", scoreName: "R²", scoreText: (value) => number(value, 3), part: "a cut or leaf",
  measured: "R² and errors",
  words: {
    "frontier-name": "R² against variables used",
    "whatif-hint": "Change a value: the route lights up in the tree, and the prediction moves.",
    "probabilities-title": "Predicted and observed",
    "probabilities-hint": "Points around the line without a pattern are what to hope for: a bend asks for a deeper tree, a funnel says that some rows are harder.",
  },
  score: (point) => (typeof point.r2 === "number" ? point.r2 : point.training_r2 || 0),
  subject: () => "A quantity",
  colour: (report, k) => toneColour(report.classes.length > 1 ? k / (report.classes.length - 1) : 0.5),
  heat: (report) => [["r2", "R²", QUANTITY.score, (value) => number(value, 3)],
    ...(report.data.n_shown === null ? [] : [
      ["rmse", "root mean squared error", (point) => point.rmse, (value) => valueText(report, value)],
      ["mae", "mean absolute error", (point) => point.mae, (value) => valueText(report, value)]])],
  compared: (shown) => [
    ...(shown.rmse === undefined ? [] : [["R² on the data shown", (p) => number(p.r2, 3)]]),
    ["R² in training", (p) => number(p.training_r2, 3)],
  ],
  comparedMore: (report, shown) => (shown.rmse === undefined ? null : {
    label: "Errors", caption: "Errors on the data shown",
    rows: [["root mean squared error", (p) => valueText(report, p.rmse)], ["mean absolute error", (p) => valueText(report, p.mae)]],
  }),
  figures: valueFigures,
  floorFigures: () => [],
  leafName: (report, entry) => entry.name,
  leafTexts: (report, { name, miss }) => [name, miss].filter(Boolean),
  leafBar: rangeBar,
  leafWords,
  leafSays: (report, { words }) => (words ? ` The leaf itself ${words}: rows near a cut get a mix.` : ""),
  leafTables: leafNumbers,
  flowColour: ({ tone }) => toneColour(tone),
  sides: valueSides,
  sampleText: (report, { observed }) => `observed ${valueText(report, observed)}`,
  answer: describeValue,
  onRows: describeResiduals,
  objective: ({ loss }) => `Objective, ${LOSSES[loss] || "loss"} in variances or spreads`,
  trainingTables: (report, point) => [quantityTable(report, point)],
};
