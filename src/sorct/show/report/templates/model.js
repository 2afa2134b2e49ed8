// Prediction from raw values, in the same steps as Tree.predict_proba.

// Numbers are raw, of dates in days; a choice is told by its place; null is missing.
function scaleRow(report, values) {
  const x = new Float64Array(report.columns.length);
  report.columns.forEach(([i], first) => {
    if (first > 0 && report.columns[first - 1][0] === i) return;
    for (const [k, value] of rowOf(report.variables[i], values[i])) x[first + k] = value;
  });
  return x;
}

// Columns of a value, counted within the variable, that are not 0.
function rowOf(variable, value) {
  if (value === null) return variable.missing || [];
  if (variable.bends) return partsOf(variable.bends, value).map((share, k) => [k, share]);
  return variable.levels ? variable.rows[value] : [[0, placeOf(variable, value)]];
}

// Shares of the parts of a bent number, from one bend to the next, that lie below a value.
function partsOf(bends, x) {
  return bends.slice(1).map((b, k) => (Math.min(Math.max(x, bends[k]), b) - bends[k]) / (b - bends[k]));
}

// Place of a number from 0 to 1, over its range or along its curve.
function placeOf({ lower, span, at, place }, x) {
  if (!at) return span === 0 ? 0 : (x - lower) / span;
  return along(at, place, x);
}

// Straight lines from point to point, level beyond the first and the last.
function along(at, values, x) {
  const last = at.length - 1;
  if (!(x > at[0])) return values[0];
  if (x >= at[last]) return values[last];
  const k = at.findIndex((one) => one > x);
  return values[k - 1] + ((x - at[k - 1]) / (at[k] - at[k - 1])) * (values[k] - values[k - 1]);
}

function logistic(u) {
  if (u >= 0) return 1 / (1 + Math.exp(-u));
  const small = Math.exp(u);
  return small / (1 + small);
}

// Score of every cut: above 0 the left side is the more probable one.
function cutScores(report, model, values) {
  const x = scaleRow(report, values);
  return model.threshold.map((threshold, t) => {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += model.coef[j][t] * x[j];
    return report.gamma * (sum / report.data.n_groups - threshold);
  });
}

// Probability of reaching every node: cuts first, then leaves.
function nodeReach(report, model, values) {
  const reach = new Float64Array(2 * model.threshold.length + 1);
  reach[0] = 1;
  cutScores(report, model, values).forEach((score, t) => {
    reach[2 * t + 1] = reach[t] * logistic(score);
    reach[2 * t + 2] = reach[t] * logistic(-score);
  });
  return reach;
}

// Probabilities of the classes: what leaves say, calibrated if the tree is.
function classProba(report, model, reach) {
  const nCuts = model.threshold.length;
  const said = (k, leaf) => (model.leaf_proba ? model.leaf_proba[k][leaf] : Number(model.leaf_class[leaf] === k));
  const proba = report.classes.map((_, k) => model.leaf_class.reduce(
    (sum, _, leaf) => sum + said(k, leaf) * reach[nCuts + leaf], 0));
  return model.calibration ? calibrated(model.calibration.maps, proba) : proba;
}

// One map is that of the second of two classes.
function calibrated(maps, proba) {
  if (maps.length === 1) {
    const second = mapped(maps[0], proba[1]);
    return [1 - second, second];
  }
  const values = maps.map((one, k) => mapped(one, proba[k]));
  const total = values.reduce((sum, value) => sum + value);
  return total > 1e-6 ? values.map((value) => value / total) : proba;
}

// A probability along a curve, or by a straight line of its log-odds.
function mapped({ points, values, slope, shift }, p) {
  if (points) return along(points, values, p);
  const inside = Math.min(Math.max(p, 1e-8), 1 - 1e-8);
  return logistic(slope * Math.log(inside / (1 - inside)) + shift);
}

// The class of least expected cost, or the most probable; the first of equals.
function predictedClass({ decision_cost: cost }, proba) {
  if (!cost) return firstLargest(proba);
  return firstLargest(proba.map((_, c) => -proba.reduce((sum, p, k) => sum + p * cost[k][c], 0)));
}

function firstLargest(list) {
  return list.reduce((best, value, k) => (value > list[best] ? k : best), 0);
}

// A quantity: what leaves say, by the probabilities of ending there.
function predictedValue(report, model, values, reach = nodeReach(report, model, values)) {
  return toldValue(report, mixedValue(report, model, values, reach));
}

function mixedValue(report, model, values, reach) {
  const nCuts = model.threshold.length, x = model.leaf_coef ? scaleRow(report, values) : null;
  return model.leaf_value.reduce((sum, value, leaf) => {
    const slopes = x ? model.leaf_coef.reduce((total, row, j) => total + row[leaf] * x[j], 0) : 0;
    return sum + (value + slopes) * reach[nCuts + leaf];
  }, 0);
}

// Leaves may say logarithms; no number is told beyond those of training then.
function toldValue(report, mixed) {
  const { link, low, high } = report.quantity;
  return link === "log" ? Math.min(Math.max(Math.exp(mixed), low), high) : mixed;
}

// Probability of coming through every node that is shown.
function shownReach(tree, reach) {
  const nCuts = tree.model.threshold.length;
  return tree.nodes.map((entry) => (entry.label === undefined ? reach[entry.node]
    : entry.leaves.reduce((sum, leaf) => sum + reach[nCuts + leaf], 0)));
}

// Places of the nodes on the way of somebody who follows the rules, from the root down.
function routeOf(report, { model, nodes }, values) {
  const scores = cutScores(report, model, values), route = [0];
  let entry = nodes[0];
  while (entry.label === undefined) {
    const goesLeft = scores[entry.node] > (model.followed_at ? model.followed_at[entry.node] : 0);
    route.push(goesLeft === entry.left ? entry.yes : entry.no);
    entry = nodes[route[route.length - 1]];
  }
  return route;
}
