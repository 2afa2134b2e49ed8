// What the frontier and the heatmap share: names of points, the slider, the comparison.

// What the trade-off counts: variables, or what they cost where that was asked for.
function sizeOf(report, point) { return report.byCost ? point.spent : point.n_variables; }

function limitText(report, size) { return report.byCost ? `a cost of ${number(size)}` : count(size, "variable"); }

function pointName(report, point) {
  const told = point.training, { scoreName, score, scoreText } = targetOf(report);
  return `local penalty ${strength(told.alpha_local)}, global penalty `
    + `${strength(told.alpha_global)}: ${scoreName} ${scoreText(score(point))}, `
    + `${count(point.n_variables, "variable")}`
    + (told.relaxed ? ", refitted on them" : "")
    + (point.spent === undefined ? "" : ` that cost ${number(point.spent)}`);
}

// Best tree within so many variables, or such a cost: the most accurate, then the sparsest.
function bestWithin(report, most) {
  let best = null;
  report.points.forEach((point, k) => {
    if (sizeOf(report, point) > most) return;
    const other = best === null ? null : report.points[best];
    const gain = other === null ? 1 : point.good - other.good;
    if (gain > 1e-12 || (gain > -1e-12 && point.n_columns <= other.n_columns)) best = k;
  });
  return best;
}

// Numbers of variables that some tree uses, or what they cost, in rising order.
function usedCounts(report) {
  return [...new Set(report.points.map((point) => sizeOf(report, point)))].sort((a, b) => a - b);
}

// Those of rising places that have room for a label: the last, and from the first on.
function labelled(places, room) {
  const end = places[places.length - 1], kept = [];
  for (const place of places) {
    const last = kept[kept.length - 1];
    const free = last === undefined || place - last >= room;
    if (place === end || (free && end - place >= room)) kept.push(place);
  }
  return new Set(kept);
}

// A tick below the slider wherever there is a tree.
function countTicks(report) {
  const counts = usedCounts(report), span = counts[counts.length - 1] - counts[0] || 1;
  const shares = counts.map((n) => (n - counts[0]) / span);
  const told = labelled(shares, 22 / Math.max(byId("most").clientWidth - 16, 100));
  return counts.map((n, k) => make("span", { style: `--share: ${shares[k].toFixed(5)}`, "data-count": n },
    told.has(shares[k]) ? number(n) : ""));
}

// What is said where the slider stands between the numbers that trees use.
function noTreeText(report, most, point) {
  if (report.byCost || usedCounts(report).includes(most)) return "";
  return `No tree uses ${most}; the best with fewer uses ${point.n_variables}.`;
}

// Mark the items of the point shown; one is in the order of Tab, arrow keys move on.
function markItems(items, attribute, isShown, isChosen) {
  const current = Math.max(items.findIndex((_, n) => isShown(n)), 0);
  items.forEach((item, n) => {
    item.setAttribute(attribute, String(isShown(n)));
    item.classList.toggle("shown", isShown(n));
    item.classList.toggle("chosen", isChosen(n));
    item.setAttribute("tabindex", n === current ? 0 : -1);
  });
}

function compareTables(report, k) {
  const chosen = report.points[report.chosen], shown = report.points[k];
  const beside = (rows) => rows.map(([name, read]) => [name, read(shown), read(chosen)]);
  const target = targetOf(report);
  const figures = [
    ["local, global penalty", (p) => `${strength(p.training.alpha_local)}, ${strength(p.training.alpha_global)}`],
    ...target.compared(shown),
    ["variables in the tree", (p) => String(p.n_variables)],
    [`most variables in ${target.part}`, (p) => String(p.most_per_cut)],
    ["columns unused, per cut", (p) => `${number(p.local_sparsity, 3)} %`],
    ["columns unused, in the tree", (p) => `${number(p.global_sparsity, 3)} %`],
  ];
  if (shown.spent !== undefined) figures.push(["cost of its variables", (p) => number(p.spent)]);
  if (shown.mean_cost !== undefined) figures.push(["mean cost on the data shown", (p) => number(p.mean_cost)]);
  const head = ["", "shown", "chosen"], more = target.comparedMore(report, shown);
  return {
    figures: scrolling("Figures", table(head, beside(figures), "The tree shown beside the chosen one")),
    more: more && scrolling(more.label, table(head, beside(more.rows), more.caption)),
  };
}
