// Prediction from raw values, in the same steps as Tree.predict_proba.

// Numbers are raw; a categorical variable is the place of its level.
function scaleRow(report, values) {
  return report.columns.map(([i, level]) => {
    const variable = report.variables[i];
    if (level >= 0) return values[i] === level ? 1 : 0;
    return variable.span === 0 ? 0 : (values[i] - variable.lower) / variable.span;
  });
}

function logistic(u) {
  if (u >= 0) return 1 / (1 + Math.exp(-u));
  const small = Math.exp(u);
  return small / (1 + small);
}

// Probability of reaching every node: cuts first, then leaves.
function nodeReach(report, model, values) {
  const x = scaleRow(report, values);
  const nCuts = model.threshold.length;
  const reach = new Float64Array(2 * nCuts + 1);
  reach[0] = 1;
  for (let t = 0; t < nCuts; t++) {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += model.coef[j][t] * x[j];
    const score = report.gamma * (sum / x.length - model.threshold[t]);
    reach[2 * t + 1] = reach[t] * logistic(score);
    reach[2 * t + 2] = reach[t] * logistic(-score);
  }
  return reach;
}

function classProba(report, model, reach) {
  const proba = report.classes.map(() => 0);
  const nCuts = model.threshold.length;
  model.leaf_class.forEach((k, leaf) => { proba[k] += reach[nCuts + leaf]; });
  return proba;
}

function firstLargest(list) {
  return list.reduce((best, value, k) => (value > list[best] ? k : best), 0);
}

// Probability of coming through every node that is shown.
function shownReach(tree, reach) {
  const nCuts = tree.model.threshold.length;
  return tree.nodes.map((entry) => (entry.label === undefined ? reach[entry.node]
    : entry.leaves.reduce((sum, leaf) => sum + reach[nCuts + leaf], 0)));
}

// Places of the nodes on the way to the most probable leaf, from the root down.
function routeOf(nodes, here) {
  const leaves = nodes.map((_, n) => n).filter((n) => nodes[n].label !== undefined);
  const end = leaves[firstLargest(leaves.map((n) => here[n]))];
  const route = [end];
  while (route[0] !== 0) {
    route.unshift(nodes.findIndex((entry) => entry.yes === route[0] || entry.no === route[0]));
  }
  return route;
}
