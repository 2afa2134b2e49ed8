// What moves the prediction of a quantity, and which change of one variable reaches a value.

const TRIED = 400, NARROWED = 40;

function withValue(values, i, value) { return values.map((one, k) => (k === i ? value : one)); }

// How far every variable moves the prediction from what its typical value would give.
function movesOf(report, model, values) {
  const now = predictedValue(report, model, values);
  return usedVariables(report, model)
    .map((i) => ({ i, move: now - predictedValue(report, model, withValue(values, i, report.variables[i].typical)) }))
    .sort((a, b) => Math.abs(b.move) - Math.abs(a.move));
}

// Values of a number that are tried: all whole ones if they are few, else evenly over its range.
function numbersTried({ lower, span, whole, at, bends }) {
  const n = whole && span <= 10000 ? span : TRIED;
  const even = Array.from({ length: Math.round(n) + 1 }, (_, k) => lower + (span * k) / (Math.round(n) || 1));
  const points = at || bends;
  return points && !whole ? [...even, ...points] : even;
}

// Places of the other levels, the nearest first if they are ordered; from a missing one, the nearest to a typical one.
function otherLevels({ levels, rows, ordered, missing, typical }, now) {
  const others = rows.map((_, place) => place).filter((place) => place !== now);
  if (!ordered) return others;
  const isMissing = now === levels.length - 1 && String(rows[now]) === String(missing);
  const at = (place, column) => (rows[place].find(([own]) => own === column) || [column, 0])[1];
  const columns = [...new Set(rows.flat().map(([column]) => column))], here = isMissing ? typical : now;
  const apart = (place) => columns.reduce((sum, one) => sum + Math.abs(at(place, one) - at(here, one)), 0);
  return others.sort((a, b) => apart(a) - apart(b));
}

// The nearest value of a variable with which the prediction reaches a goal; undefined if none does.
function reachedBy(report, model, values, i, goal) {
  const variable = report.variables[i], said = (value) => predictedValue(report, model, withValue(values, i, value));
  const isAbove = (value) => said(value) >= goal, before = isAbove(values[i]);
  if (variable.levels) {
    return otherLevels(variable, values[i]).find((place) => isAbove(place) !== before);
  }
  const now = values[i] === null ? variable.typical : values[i], end = variable.lower + variable.span;
  const start = Math.min(Math.max(now, variable.lower), end);
  const found = [-1, 1].map((side) => {
    const ahead = numbersTried(variable).filter((one) => side * (one - start) > 0).sort((a, b) => side * (a - b));
    const n = ahead.findIndex((one) => isAbove(one) !== before);
    if (n < 0) return null;
    return variable.whole ? ahead[n] : narrowed(n ? ahead[n - 1] : start, ahead[n], side, variable, (one) => isAbove(one) !== before);
  }).filter((one) => one !== null);
  if (!found.length) return undefined;
  return found.reduce((best, one) => (Math.abs(one - now) < Math.abs(best - now) ? one : best));
}

// Where a change begins between two values, with as few digits as still give it.
function narrowed(from, to, side, { lower, span }, changes) {
  let [near, far] = [from, to];
  for (let round = 0; round < NARROWED; round++) {
    const middle = (near + far) / 2;
    if (changes(middle)) far = middle;
    else near = middle;
  }
  for (let digits = 3; digits < 16; digits++) {
    const unit = 10 ** (Math.floor(Math.log10(span || 1)) + 1 - digits);
    const beyond = Number((side * Math.ceil((side * far) / unit) * unit).toPrecision(15));
    const value = Math.min(Math.max(beyond, lower), lower + span);
    if (changes(value)) return value;
  }
  return far;
}

function writtenValue(variable, value) {
  if (value === null || value === undefined) return "missing";
  if (variable.levels) return variable.levels[value];
  return variable.origin ? dayText(variable, value) : number(value, digitsFor(value, variable.span / 1000));
}

// -- the answer ------------------------------------------------------------------------------

function describeValue(report, model, state, { reach, route, outside }) {
  const value = predictedValue(report, model, state.values, reach);
  const share = shareOfRange(report, value), { low, high } = report.quantity;
  const between = betweenOf(report, model, state.values, reach);
  return [
    make("p", { class: "predicted" }, "Predicted: ", make("strong", { "data-value": value }, valueText(report, value, between?.step))),
    make("p", { class: "range" }, valueText(report, low),
      make("span", { class: "meter", "aria-hidden": "true" },
        make("span", { style: `width: ${(100 * share).toFixed(2)}%; background: ${toneColour(share)}` })),
      valueText(report, high), make("small", {}, "least and largest in training")),
    betweenNote(report, between),
    make("p", { class: "route" }, route),
    outsideNote(outside),
    ...reachParts(report, model, state, value),
  ];
}

// Where four of five rows such as this are, by leaves that say quantiles, and to which step that is told.
function betweenOf(report, model, values, reach) {
  if (!model.interval) return null;
  const end = (side) => predictedValue(report, { ...model, leaf_value: model.interval[side] }, values, reach);
  const [low, high] = [end("low"), end("high")];
  return { low, high, step: Math.min(report.quantity.spread / 100, (high - low) / 20) };
}

function betweenNote(report, between) {
  if (!between) return null;
  const { low, high, step } = between;
  return make("p", { class: "between", "data-low": low, "data-high": high },
    `Four of five such rows are between ${valueText(report, low, step)} and ${valueText(report, high, step)}.`,
    report.data.is_training ? make("small", {}, " New rows are outside a little more often.") : null);
}

function reachParts(report, model, state, value) {
  const moves = movesOf(report, model, state.values), body = make("div", {});
  if (!moves.length) return [];
  if (!moves.some(({ i }) => i === state.along)) state.along = moves[0].i;
  const goal = make("input", { type: "number", step: "any", id: "goal", value: state.goal });
  const along = make("select", { id: "along" }, moves.map(({ i }) => (
    make("option", { value: i, selected: i === state.along }, report.variables[i].name))));
  const fill = () => body.replaceChildren(moveTable(report, model, state, moves), responseCurve(report, model, state, value));
  goal.addEventListener("input", () => {
    state.goal = Number.isFinite(goal.valueAsNumber) ? goal.valueAsNumber : null;
    fill();
  });
  along.addEventListener("change", () => {
    state.along = Number(along.value);
    fill();
  });
  fill();
  return [
    make("p", { class: "field" }, make("label", { for: "goal" }, "Value to reach"), goal),
    make("p", { class: "field" }, make("label", { for: "along" }, "Draw along"), along),
    body,
  ];
}

function moveTable(report, model, state, moves) {
  const head = ["variable", "value", "moves it by"], asked = state.goal !== null;
  if (asked) head.push(`reaches ${valueText(report, state.goal)} at`);
  const rows = moves.map(({ i, move }) => {
    const variable = report.variables[i], row = [variable.name, writtenValue(variable, state.values[i]), movedText(report, move)];
    if (!asked) return row;
    const found = reachedBy(report, model, state.values, i, state.goal);
    return [...row, found === undefined ? "not by it alone" : writtenValue(variable, found)];
  });
  return scrolling("What moves the prediction",
    table(head, rows, "What each value does beside the typical one of training, all else as it is"));
}

// The prediction along one variable, all others as they are.
function responseCurve(report, model, state, value) {
  const variable = report.variables[state.along], { lower, span, levels } = variable;
  if (levels) return levelBars(report, model, state);
  const said = (one) => predictedValue(report, model, withValue(state.values, state.along, one));
  const at = Array.from({ length: 121 }, (_, k) => lower + (span * k) / 120), along = at.map(said);
  const now = state.values[state.along], low = Math.min(...along, value), high = Math.max(...along, value);
  const width = 320, height = 110, x = (one) => (span ? (width * (one - lower)) / span : width / 2);
  const y = (one) => (height * (high - one)) / (high - low || 1), [from, to] = rangeText(variable).split(" to ");
  const isInside = now !== null && now >= lower && now <= lower + span;
  return make("figure", { class: "contribution" },
    make("figcaption", {}, `The prediction along ${variable.name}`),
    shape("svg", {
      viewBox: `-64 -10 ${width + 72} ${height + 34}`, class: "histogram", role: "img",
      "aria-label": `From ${valueText(report, along[0])} at ${from} to ${valueText(report, along[120])} at ${to}.`,
    },
    shape("polyline", { points: at.map((one, k) => `${x(one)},${y(along[k])}`).join(" "), class: "curve" }),
    isInside ? shape("circle", { cx: x(now), cy: y(value), r: 5, class: "mark" }) : null,
    [high, low].map((one) => shape("text", { x: -6, y: y(one) + 4, "text-anchor": "end" }, valueText(report, one))),
    shape("text", { x: 0, y: height + 18 }, from),
    shape("text", { x: width, y: height + 18, "text-anchor": "end" }, to)));
}

function levelBars(report, model, state) {
  const variable = report.variables[state.along];
  const rows = variable.levels.map((name, place) => [name,
    valueText(report, predictedValue(report, model, withValue(state.values, state.along, place)))]);
  return scrolling(`The prediction by ${variable.name}`,
    table([variable.name, "prediction"], rows, `The prediction by ${variable.name}`), "scroll tall");
}
