// What probabilities are worth on the data shown: measures, and a curve of what came true.

function describeProbabilities(report, told) {
  const rows = [
    ["log-loss", number(told.log_loss, 3), number(told.base_log_loss, 3)],
    ["Brier score", number(told.brier, 3), number(told.base_brier, 3)],
  ];
  return [
    make("div", {},
      scrolling("Measures", table(["", report.kind === "forest" ? "the forest" : "the tree", "shares of the classes alone"], rows, "Less is better")),
      make("p", { class: "hint" }, probabilityNote(report)),
      make("details", {}, make("summary", {}, "The points"), binTable(report, told.bins))),
    reliabilityCurve(report, told.bins),
  ];
}

function probabilityNote(report) {
  const rows = report.data.is_training ? "the rows of training, which says little of new rows" : count(report.data.n_shown, "row");
  return `Measured on ${rows}.`;
}

function binTable(report, bins) {
  const rows = bins.flatMap(({ code, said, seen, low, high, counts }) => said.map((share, b) => [
    report.classes[code], percent(share), percent(seen[b]), `${percent(low[b])} to ${percent(high[b])}`, String(counts[b])]));
  return scrolling("Points", table(["class", "said", "came true", "95 %", "rows"], rows), "scroll tall");
}

// A point per class and tenth of the probabilities said, as large as its rows are many.
function reliabilityCurve(report, bins) {
  const size = 240, x = (share) => size * share, y = (share) => size * (1 - share);
  const most = Math.max(...bins.flatMap(({ counts }) => counts), 1);
  const parts = bins.slice(0, N_COLOURS).flatMap(({ code, said, seen, low, high, counts }) => [
    shape("polyline", { points: said.map((share, b) => `${x(share)},${y(seen[b])}`).join(" "), class: "reliability", stroke: classColour(code) }),
    ...said.flatMap((share, b) => [
      shape("line", { x1: x(share), x2: x(share), y1: y(low[b]), y2: y(high[b]), class: "interval", stroke: classColour(code) }),
      shape("circle", { cx: x(share), cy: y(seen[b]), r: 2.5 + 4 * Math.sqrt(counts[b] / most), fill: classColour(code), class: "mark" }),
    ]),
  ]);
  return make("figure", {},
    make("figcaption", {}, `Share that came true against probability said${bins.length === 1 ? ` of ${report.classes[bins[0].code]}` : ""}`),
    shape("svg", {
      viewBox: `-52 -12 ${size + 80} ${size + 50}`, class: "histogram", role: "img",
      "aria-label": "Reliability curve; the points are in the table beside it.",
    },
    shape("rect", { x: 0, y: 0, width: size, height: size, class: "frame" }),
    shape("line", { x1: 0, x2: size, y1: size, y2: 0, class: "axis" }), parts,
    [0, 0.5, 1].flatMap((share) => [
      shape("text", { x: x(share), y: size + 16, "text-anchor": "middle" }, percent(share, 0)),
      shape("text", { x: -4, y: y(share) + 4, "text-anchor": "end" }, percent(share, 0)),
    ]),
    shape("text", { x: size / 2, y: size + 32, "text-anchor": "middle" }, "said")));
}
