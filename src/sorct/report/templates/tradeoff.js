// The frontier, the heatmap over both penalties, the slider, and the comparison.

const QUANTITIES = [
  ["accuracy", "accuracy", (value) => percent(value)],
  ["n_variables", "variables used", String],
  ["local_sparsity", "columns unused per cut (%)", (value) => number(value, 3)],
  ["global_sparsity", "columns unused in the tree (%)", (value) => number(value, 3)],
];

// Accuracy on the data shown, else as expected in training.
function accuracyOf(point) {
  return point.accuracy === undefined ? point.expected_accuracy : point.accuracy;
}

function quantityOf(point, key) { return key === "accuracy" ? accuracyOf(point) : point[key]; }

function pointName(point) {
  const told = point.training;
  return `local penalty ${strength(told.alpha_local)}, global penalty `
    + `${strength(told.alpha_global)}: accuracy ${percent(accuracyOf(point))}, `
    + `${count(point.n_variables, "variable")}`;
}

// Best tree with at most so many variables: most accurate, then sparsest.
function bestWithin(report, most) {
  let best = null;
  report.points.forEach((point, k) => {
    if (point.n_variables > most) return;
    const other = best === null ? null : report.points[best];
    const gain = other === null ? 1 : accuracyOf(point) - accuracyOf(other);
    if (gain > 1e-12 || (gain > -1e-12 && point.n_columns <= other.n_columns)) best = k;
  });
  return best;
}

// Children of a group of which one is in the order of Tab, and arrow keys move on.
function rove(items, current) {
  items.forEach((item, n) => item.setAttribute("tabindex", n === current ? 0 : -1));
}

function drawFrontier(report, show) {
  const width = 420, height = 260, left = 52, bottom = 40;
  const points = report.points, counts = points.map((p) => p.n_variables);
  const values = points.map(accuracyOf);
  const most = Math.max(...counts, 1), low = Math.min(...values), high = Math.max(...values);
  const pad = (high - low) * 0.08 || 0.01;
  const x = (n) => left + ((width - left - 14) * n) / most;
  const y = (v) => 12 + ((height - bottom - 12) * (high + pad - v)) / (high - low + 2 * pad);
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart" });
  for (const tick of ticks(low, high)) {
    picture.append(
      shape("line", { x1: left, x2: width - 10, y1: y(tick), y2: y(tick), class: "grid" }),
      shape("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, percent(tick)));
  }
  for (const tick of wholeTicks(most)) {
    picture.append(shape("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, String(tick)));
  }
  picture.append(shape("text", { x: (width + left) / 2, y: height - 6, "text-anchor": "middle" }, "variables used"));
  const best = report.frontier.slice().sort((a, b) => counts[a] - counts[b] || values[a] - values[b]);
  const line = best.map((k, n) => `${n ? "L" : "M"}${x(counts[k])},${y(values[k])}`).join(" ");
  picture.append(shape("path", { d: line, class: "frontier" }));
  const order = points.map((_, k) => k).sort((a, b) => counts[a] - counts[b] || values[a] - values[b]);
  const group = shape("g", { role: "radiogroup", "aria-labelledby": "frontier-title" });
  const marks = order.map((k) => shape("circle", {
    cx: x(counts[k]), cy: y(values[k]), r: 6, role: "radio", "data-point": k,
    class: report.frontier.includes(k) ? "point best" : "point",
    "aria-label": pointName(points[k]), "aria-checked": "false", onclick: () => show(k),
  }, shape("title", {}, pointName(points[k]))));
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const now = marks.indexOf(event.target);
    if (!step || now < 0) return;
    event.preventDefault();
    const next = Math.min(Math.max(now + step, 0), marks.length - 1);
    show(order[next]);
    marks[next].focus();
  });
  group.append(...marks);
  picture.append(group);
  const star = points[report.chosen];
  picture.append(shape("text", {
    x: Math.min(x(star.n_variables), width - 26), y: y(accuracyOf(star)) - 10, class: "chosen-mark",
    "text-anchor": "middle",
    "aria-hidden": "true",
  }, "chosen"));
  return { picture, marks, order };
}

function ticks(low, high) {
  const span = high - low || 0.01;
  const unit = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((u) => span / u <= 5) || 0.5;
  const found = [];
  for (let n = Math.ceil(low / unit - 1e-9); n * unit <= high + 1e-9; n++) found.push(n * unit);
  return found;
}

function wholeTicks(most) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => most / s <= 8) || 1000;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, n) => n * step);
}

function drawHeatmap(report, key, show) {
  const { local, global } = report.alphas;
  const one = global.length === 1 || local.length === 1;
  // A single row reads better than a single column.
  const across = one && global.length === 1 ? local : global;
  const down = one && global.length === 1 ? global : local;
  const at = (r, c) => (across === local && one ? c * global.length + r : r * global.length + c);
  const [, label, text] = QUANTITIES.find(([name]) => name === key);
  const values = report.points.map((point) => quantityOf(point, key));
  // Coloured by rank: one poor corner would otherwise hide the differences elsewhere.
  const levels = [...new Set(values)].sort((a, b) => a - b);
  const acrossName = across === local && one ? "local penalty" : "global penalty";
  const downName = across === local && one ? "global penalty" : "local penalty";
  const cells = [];
  const rows = down.map((alpha, r) => make("tr", { role: "row" },
    make("th", { scope: "row", role: "rowheader" }, one ? "" : strength(alpha)),
    across.map((_, c) => {
      const k = at(r, c), share = levels.indexOf(values[k]) / Math.max(levels.length - 1, 1);
      const cell = make("td", {
        role: "gridcell", "data-point": k, "aria-selected": "false",
        "aria-label": `${pointName(report.points[k])}; ${label} ${text(values[k])}`,
        title: pointName(report.points[k]), onclick: () => show(k),
        style: `--share: ${(100 * share).toFixed(1)}%`,
      });
      cells.push(cell);
      return cell;
    })));
  const grid = make("table", { role: "grid", class: "heat", "aria-label": `${label} over the penalties` },
    make("caption", {}, one ? `${acrossName} →` : `${downName} ↓  ${acrossName} →`),
    make("thead", {}, make("tr", { role: "row" },
      make("td", { role: "presentation", class: "corner" }),
      across.map((alpha) => make("th", { scope: "col", role: "columnheader" }, make("span", {}, strength(alpha)))))),
    make("tbody", {}, rows));
  grid.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across.length, ArrowUp: -across.length }[event.key];
    const now = cells.indexOf(event.target), next = now + (step || 0);
    if (!step || now < 0 || next < 0 || next >= cells.length) return;
    event.preventDefault();
    show(Number(cells[next].dataset.point));
    cells[next].focus();
  });
  const legend = make("p", { class: "ramp" }, text(levels[0]), make("span", { "aria-hidden": "true" }),
    `${text(levels[levels.length - 1])}, by rank`);
  return { grid, legend, cells };
}

function compareTable(report, k) {
  const chosen = report.points[report.chosen], shown = report.points[k];
  const rows = [
    ["local, global penalty", (p) => `${strength(p.training.alpha_local)}, ${strength(p.training.alpha_global)}`],
    ["accuracy on the data shown", (p) => percent(p.accuracy)],
    ["expected accuracy in training", (p) => percent(p.expected_accuracy)],
    ["variables in the tree", (p) => String(p.n_variables)],
    ["most variables in a cut", (p) => String(p.most_per_cut)],
    ["columns unused, per cut", (p) => `${number(p.local_sparsity, 3)} %`],
    ["columns unused, in the tree", (p) => `${number(p.global_sparsity, 3)} %`],
  ].concat(report.classes.map((name, c) => [
    `recall of ${name} (expected)`,
    (p) => `${p.recall ? percent(p.recall[c]) : "–"} (${percent(p.expected_recall[c])})`,
  ]));
  return table(["", "shown", "chosen"], rows.map(([name, read]) => [name, read(shown), read(chosen)]));
}
