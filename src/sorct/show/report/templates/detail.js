// The panel beside the drawing: a cut with its coefficients and sides, or a leaf.

function describeNode(report, tree, n, start) {
  const entry = tree.nodes[n];
  return entry.label === undefined ? describeCut(report, entry) : describeLeaf(report, entry, start);
}

function describeCut(report, entry) {
  const rows = rowsOf(entry).map((row) => [rowName(report, row), weightText(row), sizeText(row)]);
  return [
    make("h3", {}, `Cut ${entry.cut}`),
    make("p", { class: "question" }, questionOf(entry)),
    make("div", { class: "halves" },
      rows.length ? make("div", {},
        scrolling("Coefficients", table(["variable", "weight", "scaled"], rows), "scroll tall"),
        make("p", { class: "hint" }, "Weights in original units; scaled with every variable from 0 to 1."),
        entry.terms.filter((term) => term.curve).map((term) => contribution(report, term))) : null,
      make("div", {}, entry.split ? describeSides(report, entry)
        : make("p", { class: "hint" }, "The report was made without data: no distributions."))),
  ];
}

function describeSides(report, entry) {
  const { head, rows } = targetOf(report).sides(report, entry.split);
  return [histogram(report, entry), make("div", { class: "sides" }, table(head, rows))];
}

function histogram(report, entry) {
  const { low, high, counts, yes, no } = entry.split, n = counts[0].length;
  const width = 320, height = 120, step = width / n;
  const totals = counts[0].map((_, b) => sumOf(counts.map((row) => row[b])));
  const most = Math.max(...totals, 1), zero = (width * (0 - low)) / (high - low);
  const bars = totals.flatMap((_, b) => {
    let top = height;
    return counts.map((row, k) => {
      const size = (height * row[b]) / most;
      top -= size;
      return size > 0 ? shape("rect", {
        x: b * step + 0.5, y: top, width: step - 1, height: size, fill: targetOf(report).colour(report, k),
      }) : null;
    });
  });
  return shape("svg", {
    viewBox: `-4 -16 ${width + 8} ${height + 40}`, class: "histogram", role: "img",
    "aria-label": `Distribution of sum minus threshold by ${targetOf(report).kind}: ${sumOf(no)} samples `
      + `on the side of no, ${sumOf(yes)} on the side of yes.`,
  }, bars,
  shape("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }),
  shape("line", { x1: zero, x2: zero, y1: -2, y2: height + 4, class: "threshold" }),
  shape("text", { x: Math.min(Math.max(zero - 6, 14), width - 24), y: -4, "text-anchor": "end" }, "no"),
  shape("text", { x: Math.min(Math.max(zero + 6, 20), width - 18), y: -4 }, "yes"),
  shape("text", { x: 0, y: height + 18 }, number(low, 3)),
  shape("text", { x: width, y: height + 18, "text-anchor": "end" }, number(high, 3)),
  shape("text", { x: width / 2, y: height + 18, "text-anchor": "middle" }, "sum − threshold"));
}

// What a variable along a curve adds to the sum, over its range; a missing cell beside it.
function contribution(report, term) {
  const variable = report.variables[report.columns[term.column][0]], { lower, span, at, place } = variable;
  const width = 320, height = 90, ends = [0, term.curve];
  const missing = term.missing ? Number(term.missing.weight.replace("−", "-")) : null;
  if (missing !== null) ends.push(missing);
  const low = Math.min(...ends), high = Math.max(...ends), room = missing === null ? width : width - 70;
  const y = (value) => (height * (high - value)) / (high - low || 1);
  const points = at.map((one, k) => `${(room * (one - lower)) / span},${y(term.curve * place[k])}`);
  const [from, to] = rangeText(variable).split(" to ");
  return make("figure", { class: "contribution" },
    make("figcaption", {}, `What ${variable.name} adds to the sum`),
    shape("svg", {
      viewBox: `-4 -16 ${width + 8} ${height + 40}`, class: "histogram", role: "img",
      "aria-label": `${term.name} times its weight: from 0 at ${from} to ${number(term.curve)} at ${to}`
        + `${missing === null ? "" : `; ${number(missing)} where missing`}.`,
    },
    shape("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "axis" }),
    shape("polyline", { points: points.join(" "), class: "curve" }),
    missing === null ? null : [
      shape("circle", { cx: width - 26, cy: y(missing), r: 4, class: "mark" }),
      shape("text", { x: width, y: height + 18, "text-anchor": "end" }, "missing"),
    ],
    shape("text", { x: 0, y: -4 }, number(high, 3)),
    shape("text", { x: 0, y: height + 18 }, from),
    shape("text", { x: room, y: height + 18, "text-anchor": "end" }, to)));
}

function describeLeaf(report, entry, start) {
  const target = targetOf(report);
  return [
    make("h3", {}, `Leaf: ${target.leafName(report, entry)}`),
    make("p", {}, `${percent(sumOf(entry.mass))} of the training ${report.counted === "rows" ? "rows come here by hand" : "sample is expected here"}.`
      + target.leafSays(report, entry)),
    ...target.leafTables(report, entry),
    entry.found && entry.found.listed.length ? make("p", {}, "Listed samples here: ",
      entry.found.listed.map((place) => make("button", {
        type: "button", class: "small", "data-sample": place, onclick: () => start(place),
      }, report.samples[place].name))) : null,
  ];
}

function leafTip(report, entry) {
  const target = targetOf(report);
  const lines = [`${target.leafName(report, entry)}: ${target.leafWords(report, entry)}`];
  if (entry.found) {
    lines.push(`${count(sumOf(entry.found.counts), "sample")} of the data shown`);
    const names = entry.found.listed.map((place) => report.samples[place].name);
    if (names.length) lines.push(`such as ${names.join(", ")}`);
  }
  return lines;
}
