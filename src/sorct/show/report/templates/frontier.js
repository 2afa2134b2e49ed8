// The frontier: accuracy (or R²) against variables used or their cost, a mark for every place.

const CHART_HEIGHT = 330, CHART_LEFT = 62, CHART_BOTTOM = 44, CHART_TOP = 26;

// Points of the path by place: those with the same figures lie on top of each other.
// The first of a place stands for it: the chosen one, one of the frontier, or the sparsest.
function pointsByPlace(report) {
  const places = new Map(), { score } = targetOf(report);
  report.points.forEach((point, k) => {
    const key = `${sizeOf(report, point)} ${score(point)}`;
    places.set(key, [...(places.get(key) || []), k]);
  });
  const rank = (k) => [k !== report.chosen, !report.frontier.includes(k), report.points[k].n_columns, -k];
  const first = (a, b) => rank(a).map((value, n) => value - rank(b)[n]).find((gap) => gap !== 0) || 0;
  const [used, value] = [(ks) => sizeOf(report, report.points[ks[0]]), (ks) => score(report.points[ks[0]])];
  return [...places.values()].map((ks) => ks.sort(first))
    .sort((a, b) => used(a) - used(b) || value(a) - value(b));
}

// Where things are. Downwards the axis is that of the square root of the distance from
// the best, or one poor tree would press all others together.
function chartScale(report, width) {
  const values = report.points.map(targetOf(report).score), most = Math.max(...usedCounts(report)) || 1;
  const low = Math.min(...values), high = Math.max(...values);
  const bottom = CHART_HEIGHT - CHART_BOTTOM - 10;
  return {
    low, high, most, width,
    x: (n) => CHART_LEFT + ((width - CHART_LEFT - 24) * n) / most,
    y: (v) => CHART_TOP + (bottom - CHART_TOP) * Math.sqrt(Math.max(high - v, 0) / (high - low || 1)),
  };
}

// Round values, as many as have room.
function ticks({ low, high, y }) {
  const found = [];
  const whole = [4, 3, 2, 1, 0].flatMap((power) => [5, 2, 1].map((one) => one * 10 ** power));
  const units = [...whole.filter((one) => 2 * one < high - low), 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
    .filter((one) => one >= (high - low) / 40);
  for (const unit of units) {
    // Finer ones near the best only, where the axis is stretched.
    const end = unit === units[0] ? low : Math.max(low, high - 8 * unit);
    for (let n = Math.floor(high / unit + 1e-9); n * unit >= end - 1e-9; n--) {
      if (found.every((tick) => Math.abs(y(tick) - y(n * unit)) >= 26)) found.push(n * unit);
    }
  }
  return found.length ? found : [high];
}

// A tick for every number of variables (or cost) that some tree has, and none between.
function drawAxes(scale, counts, label, write) {
  const { x, y, width } = scale, told = labelled(counts.map(x), 24);
  return [
    ...ticks(scale).flatMap((tick) => [
      shape("line", { x1: CHART_LEFT, x2: width - 10, y1: y(tick), y2: y(tick), class: "grid" }),
      shape("text", { x: CHART_LEFT - 10, y: y(tick) + 4, "text-anchor": "end" }, write(tick)),
    ]),
    ...counts.map((n) => shape("line", {
      x1: x(n), x2: x(n), y1: CHART_HEIGHT - CHART_BOTTOM - 2, y2: CHART_HEIGHT - CHART_BOTTOM + 4, class: "tick",
    })),
    ...counts.filter((n) => told.has(x(n))).map((n) => shape("text", {
      x: x(n), y: CHART_HEIGHT - CHART_BOTTOM + 18, "text-anchor": "middle",
    }, number(n))),
    shape("text", { x: (width + CHART_LEFT) / 2, y: CHART_HEIGHT - 6, "text-anchor": "middle" }, label),
  ];
}

function drawMark(report, ks, { x, y }) {
  const point = report.points[ks[0]], others = ks.length - 1;
  const name = pointName(report, point) + (others ? `; so are ${count(others, "other tree")}` : "");
  return shape("circle", {
    cx: x(sizeOf(report, point)), cy: y(targetOf(report).score(point)), r: 7, role: "radio", "data-point": ks[0],
    class: ks.some((k) => report.frontier.includes(k)) ? "point best" : "point",
    "aria-label": name, "aria-checked": "false",
  }, shape("title", {}, name));
}

// The most accurate tree for so many variables, wherever more variables gain something.
function risingPoints(report, places) {
  const found = [], { score } = targetOf(report);
  places.map((ks) => report.points[ks[0]]).forEach((point) => {
    const last = found[found.length - 1];
    if (last && score(point) <= score(last)) return;
    if (last && sizeOf(report, last) === sizeOf(report, point)) found.pop();
    found.push(point);
  });
  return found;
}

// At every number of variables, how good a tree with at most so many is: level up to the next.
function stairs(report, points, { x, y, most }) {
  const steps = points.map((p, n) => `${n ? "H" : "M"}${x(sizeOf(report, p))}${n ? "V" : ","}${y(targetOf(report).score(p))}`);
  return `${steps.join(" ")} H${x(most)}`;
}

// The mark nearest to a click, of several that overlap; -1 if none is near.
function markAt(marks, event) {
  const gaps = marks.map((mark) => {
    const box = mark.getBoundingClientRect();
    return Math.hypot(box.left + box.width / 2 - event.clientX, box.top + box.height / 2 - event.clientY);
  });
  const nearest = gaps.indexOf(Math.min(...gaps));
  return gaps[nearest] <= 20 ? nearest : -1;
}

function nextPlace(key, now, n) {
  const next = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: n - 1 }[key];
  return next === undefined ? null : Math.min(Math.max(next, 0), n - 1);
}

// The word beside the mark of the chosen tree, where it covers no other mark.
function chosenWord(report, places, { x, y, width }) {
  const at = (k) => ({ x: x(sizeOf(report, report.points[k])), y: y(targetOf(report).score(report.points[k])) });
  const star = at(report.chosen), half = textWidth("chosen", "600 12px") / 2 + 4;
  const marks = places.filter((ks) => !ks.includes(report.chosen)).map((ks) => at(ks[0]));
  const around = [[0, -12], [0, 24], [half + 12, 4], [-half - 12, 4], [0, -26], [0, 38], [half, -20], [-half, -20]];
  const boxes = around.map(([right, down]) => ({
    x: Math.min(Math.max(star.x + right, CHART_LEFT + half), width - half), y: star.y + down,
  }));
  const isFree = (box) => box.y > 10 && box.y < CHART_HEIGHT - CHART_BOTTOM - 4
    && marks.every((mark) => Math.abs(mark.x - box.x) > half + 9 || Math.abs(mark.y - (box.y - 4)) > 17)
    && (Math.abs(star.x - box.x) > half + 8 || Math.abs(star.y - (box.y - 4)) > 14);
  const place = boxes.find(isFree) || boxes[0];
  return shape("text", { ...place, class: "chosen-mark", "text-anchor": "middle", "aria-hidden": "true" }, "chosen");
}

function drawFrontier(report, width, show) {
  const places = pointsByPlace(report), scale = chartScale(report, width);
  const line = stairs(report, risingPoints(report, places), scale);
  const marks = places.map((ks) => drawMark(report, ks, scale));
  const pick = (n) => {
    show(places[n][0]);
    marks[n].focus();
  };
  const group = shape("g", {
    role: "radiogroup", "aria-labelledby": "frontier-title",
    onkeydown: (event) => {
      const next = nextPlace(event.key, marks.indexOf(event.target), marks.length);
      if (next === null) return;
      event.preventDefault();
      pick(next);
    },
  }, marks);
  const picture = shape("svg", {
    viewBox: `0 0 ${width} ${CHART_HEIGHT}`, class: "chart",
    onclick: (event) => {
      const near = markAt(marks, event), n = near < 0 ? marks.indexOf(event.target) : near;
      if (n >= 0) pick(n);
    },
  },
    drawAxes(scale, usedCounts(report), report.byCost ? "cost of the variables used" : "variables used", targetOf(report).scoreText), shape("path", { d: line, class: "frontier" }), group,
    chosenWord(report, places, scale));
  return { picture, marks, places };
}
