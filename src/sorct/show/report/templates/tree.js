// The drawing of a tree: cuts with coefficient bars, samples flowing to the leaves.

const LEAF_WIDTH = 138, LEAF_PAD = 8, ROW = 17, GAP = 74, PAD = 12;
const MOST_TERMS = 6, FLOW = 34, BAR = 24, BARS = 80;

// A cut is as wide as the two leaves below it; where there are few, wider.
function cutWidth(nodes) { return nodes.length > 7 ? 292 : 372; }

function cutHeight(entry) {
  const n = drawnRows(entry).length;
  if (n < 2 || isPlain(entry)) return 34;
  return 34 + ROW * (n > MOST_TERMS ? MOST_TERMS + 1 : n);
}

function leafLines(report, entry) {
  return targetOf(report).leafTexts(report, entry)
    .flatMap((text) => linesOf(text, LEAF_WIDTH - 2 * LEAF_PAD, 3, BOLD));
}

// Place of every shown node: its centre and its top; boxes never overlap.
function layOut(report, nodes) {
  const levels = [], places = nodes.map(() => ({}));
  const measure = (n, level) => {
    const entry = nodes[n], place = places[n];
    const isLeaf = entry.label !== undefined;
    place.level = level;
    place.height = isLeaf ? 48 + 16 * leafLines(report, entry).length : cutHeight(entry);
    levels[level] = Math.max(levels[level] || 0, place.height);
    place.width = isLeaf ? LEAF_WIDTH + 16 : Math.max(cutWidth(nodes) + 16,
      measure(entry.yes, level + 1) + measure(entry.no, level + 1));
    return place.width;
  };
  const put = (n, left) => {
    const entry = nodes[n], place = places[n];
    place.x = left + place.width / 2;
    place.y = 8 + levels.slice(0, place.level).reduce((a, b) => a + b + GAP, 0);
    if (entry.label === undefined) {
      const below = places[entry.yes].width + places[entry.no].width;
      const start = left + (place.width - below) / 2;
      put(entry.yes, start);
      put(entry.no, start + places[entry.yes].width);
    }
  };
  measure(0, 0);
  put(0, 0);
  const height = 16 + sumOf(levels) + GAP * (levels.length - 1);
  return { places, width: places[0].width, height };
}

// Ribbons from a cut to a node below it, one per class, as wide as its share.
function flow(report, from, to, entry, offset, key) {
  const total = sumOf(entry.mass);
  const size = Math.max(FLOW * total, 1.5);
  const y0 = from.y + from.height, y1 = to.y, middle = (y0 + y1) / 2;
  const group = shape("g", { class: "flow", "data-node": key });
  let done = 0;
  entry.mass.forEach((part, k) => {
    const width = (size * part) / (total || 1);
    const a = from.x + offset + done, b = to.x - size / 2 + done;
    done += width;
    if (width < 0.15) return;
    const path = `M${a},${y0} C${a},${middle} ${b},${middle} ${b},${y1} `
      + `h${width} C${b + width},${middle} ${a + width},${middle} ${a + width},${y0} Z`;
    group.append(shape("path", { d: path, fill: targetOf(report).flowColour(entry, k) }));
  });
  return group;
}

// What a cut adds up, a row for each: of a category one per weight, of missing cells one.
function rowsOf(entry) {
  return entry.terms.flatMap((term) => {
    const column = { column: term.column, name: term.name, beside: term.missing };
    if (term.levels) {
      return term.levels.map(({ names, weights, low, high }) => ({ ...column, names, weights, low, high }));
    }
    const row = ({ weight, size }) => ({ weights: [weight], low: Math.min(size, 0), high: Math.max(size, 0) });
    return [{ ...column, ...row(term) },
      ...(term.missing ? [{ ...column, names: "missing", isBeside: true, ...row(term.missing) }] : [])];
  });
}

// Those that are drawn, largest first; missing cells are told beside their variables.
function drawnRows(entry) {
  const size = ({ low, high }) => Math.max(-low, high);
  return rowsOf(entry).filter((row) => !row.isBeside && (size(row) > 0 || !row.names))
    .sort((a, b) => size(b) - size(a));
}

// Whether a cut asks one thing alone, such as "purpose is car or house".
function isPlain(entry) { return entry.threshold === null; }

function weightText(row) { return row.weights.map(written).join(" to "); }

function signed(weight) { return weight.startsWith("−") ? written(weight) : `+${written(weight)}`; }

function sizeText({ low, high }) {
  return low && high && low !== high ? `${number(low, 3)} to ${number(high, 3)}` : number(high || low, 3);
}

// Name of a row; the column of a level reads "[variable is level]".
function rowName(report, row) {
  const [i, level] = report.columns[row.column], variable = report.variables[i];
  if (row.names) return `${variable.name}: ${row.names}`;
  if (row.name) return row.name;
  return level < 0 ? variable.name : `[${variable.name} is ${variable.levels[level]}]`;
}

// The same where there is little room: of a level both halves stay readable.
function fittedRow(report, row, room, font = PLAIN) {
  const [i, level] = report.columns[row.column], variable = report.variables[i];
  const beside = row.beside ? ` (missing: ${signed(row.beside.weight)})` : "";
  const whole = rowName(report, row) + beside;
  if (row.name || row.names || level < 0) return fitted(whole, room, font);
  if (whole.length < 500 && textWidth(whole, font) <= room) return whole;
  const rest = room - textWidth("[ is ]", font), name = variable.levels[level];
  const half = fitted(name, Math.max(rest / 2, rest - textWidth(variable.name.slice(0, 500), font)), font);
  return `[${fitted(variable.name, rest - textWidth(half, font), font)} is ${half}]`;
}

// A cut in words, its numbers as people read them.
function questionOf(entry) { return entry.words || entry.question; }

function headOf(report, entry, room) {
  const [first, ...others] = drawnRows(entry);
  const isLevel = first && !first.name && !first.names;
  if (!first || (isPlain(entry) && !isLevel)) return fitted(questionOf(entry), room, BOLD);
  if (others.length && !isPlain(entry)) return fitted(`sum > ${written(entry.threshold)}`, room, BOLD);
  const end = isPlain(entry) ? "" : ` > ${written(entry.threshold)}`;
  return fittedRow(report, first, room - textWidth(end, BOLD), BOLD) + end;
}

function drawCut(report, entry, place, width) {
  const left = place.x - width / 2, head = `cut ${entry.cut}:  `;
  const room = width - 2 * PAD - textWidth(head, BOLD);
  const box = shape("g", { transform: `translate(${left},${place.y})`, "aria-hidden": "true" },
    shape("rect", { class: "box", width, height: place.height, rx: 8 }),
    shape("text", { x: PAD, y: 21, class: "strong" }, head + headOf(report, entry, room)));
  if (drawnRows(entry).length > 1 && !isPlain(entry)) box.append(...drawTerms(report, entry, width));
  return box;
}

// A row per term: its weight, its name, and beside that a bar to the right or left.
function drawTerms(report, entry, width) {
  const all = drawnRows(entry), terms = all.slice(0, MOST_TERMS);
  const most = Math.max(...all.map(({ low, high }) => Math.max(-low, high)), 1e-300);
  const weights = terms.map((term) => fitted(weightText(term), 90));
  const start = PAD + Math.max(...weights.map((text) => textWidth(text)));
  const sides = terms.some((term) => term.low < 0) ? 2 : 1;
  const room = width - PAD - sides * BAR - start - 14;
  const names = terms.map((term) => fittedRow(report, term, room));
  const end = start + 14 + Math.max(...names.map((text) => textWidth(text)));
  const bar = Math.min(width - PAD - end, BARS) / sides, axis = end + (sides - 1) * bar;
  const rows = terms.flatMap((term, n) => {
    const y = 38 + ROW * n;
    return [
      shape("text", { x: start, y: y + 4, class: "weight" }, weights[n]),
      shape("text", { x: start + 6, y: y + 4 }, names[n]),
      shape("line", { x1: axis, x2: axis, y1: y - 8, y2: y + 8, class: "axis" }),
      ...termBars(term, axis, bar / most, y - 5),
    ];
  });
  if (all.length > MOST_TERMS) {
    rows.push(shape("text", { x: start + 6, y: 42 + ROW * MOST_TERMS },
      `and ${all.length - MOST_TERMS} more`));
  }
  return rows;
}

// Bars to the left and right of an axis, hollow where they speak for "no".
function termBars({ low, high }, axis, unit, y) {
  const bars = [];
  if (low < 0) bars.push(shape("rect", { x: axis + unit * low, y, width: -unit * low, height: 10, class: "bar minus" }));
  if (high > 0) bars.push(shape("rect", { x: axis, y, width: unit * high, height: 10, class: "bar plus" }));
  return bars;
}

function drawLeaf(report, entry, place) {
  const lines = leafLines(report, entry), bottom = 16 * lines.length;
  const bar = targetOf(report).leafBar(report, entry, LEAF_WIDTH - 2 * LEAF_PAD, 10);
  bar.setAttribute("transform", `translate(${LEAF_PAD},${30 + bottom})`);
  return shape("g", { transform: `translate(${place.x - LEAF_WIDTH / 2},${place.y})`, "aria-hidden": "true" },
    shape("rect", { class: "box leaf", width: LEAF_WIDTH, height: place.height, rx: 8 }),
    lines.map((line, n) => shape("text", { x: LEAF_PAD, y: 20 + 16 * n, class: "strong" }, line)),
    shape("text", { x: LEAF_PAD, y: 21 + bottom }, `${percent(sumOf(entry.mass))} of ${report.counted}`),
    bar);
}

function nodeName(report, entry) {
  const share = percent(sumOf(entry.mass));
  if (entry.label === undefined) {
    return `cut ${entry.cut}: ${questionOf(entry)}. ${share} of ${report.counted} come here.`;
  }
  const target = targetOf(report);
  return `${target.leafName(report, entry)}: ${share} of ${report.counted}. A leaf with ${target.leafWords(report, entry)}`;
}

// A button of the size of the box, and over it the drawing, which only eyes see.
function drawNode(report, nodes, n, place, events) {
  const entry = nodes[n], isLeaf = entry.label !== undefined;
  const width = isLeaf ? LEAF_WIDTH : cutWidth(nodes);
  const button = shape("rect", {
    class: "hit", x: place.x - width / 2, y: place.y, width, height: place.height, rx: 8,
    tabindex: 0, role: "button", "aria-label": nodeName(report, entry), "aria-pressed": "false",
    onclick: () => events.select(n),
    onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        events.select(n);
      }
    },
    onpointerenter: () => events.point(n, button), onpointerleave: events.leave,
    onfocus: () => events.point(n, button), onblur: events.leave,
  });
  const drawing = isLeaf ? drawLeaf(report, entry, place) : drawCut(report, entry, place, width);
  return shape("g", { class: "node", "data-node": n }, button, drawing);
}

function drawFlows(report, nodes, places) {
  const size = (n) => Math.max(FLOW * sumOf(nodes[n].mass), 1.5);
  return nodes.flatMap((entry, n) => {
    if (entry.label !== undefined) return [];
    const { yes, no } = entry, start = -(size(yes) + size(no)) / 2;
    const y = places[n].y + places[n].height + 13;
    return [
      flow(report, places[n], places[yes], nodes[yes], start, yes),
      flow(report, places[n], places[no], nodes[no], start + size(yes), no),
      shape("text", { x: places[n].x - 30, y, class: "answer", "text-anchor": "end" }, "yes"),
      shape("text", { x: places[n].x + 30, y, class: "answer" }, "no"),
    ];
  });
}

// Draw a tree; `events` has select(n), point(n, element) and leave().
function drawTree(report, tree, events) {
  const { places, width, height } = layOut(report, tree.nodes);
  const picture = shape("svg", {
    viewBox: `0 0 ${width} ${height}`, class: "tree", role: "group",
    style: `--width: ${width}px`, "aria-label": "Cuts from the root down",
  }, drawFlows(report, tree.nodes, places),
  tree.nodes.map((_, n) => drawNode(report, tree.nodes, n, places[n], events)));
  return { picture, width };
}

// Light up the route, and the ribbons as far as a sample comes through them.
function lightRoute(picture, route, here) {
  picture.querySelectorAll("[data-node]").forEach((part) => {
    const n = Number(part.dataset.node);
    part.style.setProperty("--lit", here[n].toFixed(3));
    part.classList.toggle("lit", route.includes(n));
  });
}
