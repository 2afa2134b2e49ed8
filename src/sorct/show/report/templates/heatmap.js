// The heatmap over both penalties: a grid in which a cell is a tree.

const SPARSITY = [
  ["n_variables", "variables used", (point) => point.n_variables, String],
  ["local_sparsity", "columns unused per cut (%)", (point) => point.local_sparsity, (value) => number(value, 3)],
  ["global_sparsity", "columns unused in the tree (%)", (point) => point.global_sparsity, (value) => number(value, 3)],
];

// What a cell can show: its name, how it is read off a point, how it is written.
function heatChoices(report) { return [...targetOf(report).heat(report), ...SPARSITY]; }

// Rows and columns of the grid; a single row reads better than a single column.
function gridOf(report) {
  const { local, global } = report.alphas;
  if (global.length === 1) {
    return { across: local, down: [0], at: (r, c) => c, caption: "local penalty →", single: true };
  }
  return {
    across: global, down: local, at: (r, c) => r * global.length + c, single: local.length === 1,
    caption: local.length === 1 ? "global penalty →" : "local penalty ↓  global penalty →",
  };
}

function heatCell(report, k, share, words, show) {
  return make("td", {
    role: "gridcell", "data-point": k, "aria-selected": "false",
    "aria-label": `${pointName(report, report.points[k])}; ${words}`,
    title: `${pointName(report, report.points[k])}; ${words}`, onclick: () => show(k),
    style: `--share: ${(100 * share).toFixed(1)}%`,
  });
}

function nextCell(key, now, n, wide) {
  const [row, column] = [Math.floor(now / wide), now % wide];
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[key];
  if (key === "Home") return row * wide;
  if (key === "End") return row * wide + wide - 1;
  if (!step) return null;
  const to = [row + step[0], column + step[1]];
  const inside = to[0] >= 0 && to[0] < n / wide && to[1] >= 0 && to[1] < wide;
  return inside ? to[0] * wide + to[1] : now;
}

function drawHeatmap(report, key, show) {
  const { across, down, at, caption, single } = gridOf(report);
  const [, label, read, text] = heatChoices(report).find(([name]) => name === key);
  const values = report.points.map(read);
  // Coloured by rank: one poor corner would otherwise hide the differences elsewhere.
  const levels = [...new Set(values)].sort((a, b) => a - b);
  const rank = (k) => levels.indexOf(values[k]) / Math.max(levels.length - 1, 1);
  const cells = [];
  const rows = down.map((alpha, r) => make("tr", { role: "row" },
    single ? null : make("th", { scope: "row", role: "rowheader" }, strength(alpha)),
    across.map((_, c) => {
      const k = at(r, c);
      cells.push(heatCell(report, k, rank(k), `${label} ${text(values[k])}`, show));
      return cells[cells.length - 1];
    })));
  const grid = make("table", {
    role: "grid", class: single ? "heat single" : "heat", "aria-label": `${label} over the penalties`,
    onkeydown: (event) => {
      const next = nextCell(event.key, cells.indexOf(event.target), cells.length, across.length);
      if (next === null) return;
      event.preventDefault();
      show(Number(cells[next].dataset.point));
      cells[next].focus();
    },
  }, make("caption", {}, caption),
  make("thead", {}, make("tr", { role: "row" },
    single ? null : make("td", { role: "presentation", class: "corner" }),
    across.map((alpha) => make("th", { scope: "col", role: "columnheader" }, make("span", {}, strength(alpha)))))),
  make("tbody", {}, rows));
  const legend = make("p", { class: "ramp" },
    text(levels[0]), make("span", { class: "colours", "aria-hidden": "true" }),
    `${text(levels[levels.length - 1])}, by rank`,
    make("span", { class: "key shown", "aria-hidden": "true" }), "shown",
    make("span", { class: "key chosen", "aria-hidden": "true" }), "chosen");
  return { grid, legend, cells };
}
