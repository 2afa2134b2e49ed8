// The drawing of a tree: cuts with coefficient bars, samples flowing to the leaves.

const CUT_WIDTH = 288, LEAF_WIDTH = 138, LEAF_HEIGHT = 64, ROW = 17, GAP = 74;
const MOST_TERMS = 6, FLOW = 34;

function cutHeight(entry) {
  const n = entry.terms.length;
  return 34 + ROW * (n > MOST_TERMS ? MOST_TERMS + 1 : n);
}

// Place of every shown node: its centre and its top; boxes never overlap.
function layOut(nodes) {
  const levels = [], places = nodes.map(() => ({}));
  const measure = (n, level) => {
    const entry = nodes[n], place = places[n];
    const isLeaf = entry.label !== undefined;
    place.level = level;
    place.height = isLeaf ? LEAF_HEIGHT : cutHeight(entry);
    levels[level] = Math.max(levels[level] || 0, place.height);
    place.width = isLeaf ? LEAF_WIDTH + 16 : Math.max(CUT_WIDTH + 24,
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
  const height = 16 + levels.reduce((a, b) => a + b, 0) + GAP * (levels.length - 1);
  return { places, width: places[0].width, height };
}

// Ribbons from a cut to a node below it, one per class, as wide as its share.
function flow(from, to, entry, offset, key) {
  const total = entry.mass.reduce((a, b) => a + b, 0);
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
    group.append(shape("path", { d: path, fill: classColour(k) }));
  });
  return group;
}

function drawCut(entry, place) {
  const left = place.x - CUT_WIDTH / 2;
  const most = Math.max(...entry.terms.map((term) => Math.abs(term.size)), 1e-12);
  const box = shape("g", { transform: `translate(${left},${place.y})` },
    shape("rect", { class: "box", width: CUT_WIDTH, height: place.height, rx: 8 }),
    shape("text", { x: 12, y: 21, class: "strong" },
      `cut ${entry.cut}:  ${shorten(headOf(entry), 32)}`));
  entry.terms.slice(0, MOST_TERMS).forEach((term, n) => {
    const y = 38 + ROW * n, length = (26 * Math.abs(term.size)) / most;
    box.append(
      shape("text", { x: 74, y: y + 4, class: "weight" }, term.weight),
      shape("text", { x: 80, y: y + 4, class: "name" }, shorten(term.name, 23)),
      shape("line", { x1: 254, x2: 254, y1: y - 8, y2: y + 8, class: "axis" }),
      shape("rect", {
        x: term.size < 0 ? 254 - length : 254, y: y - 5, width: length, height: 10,
        class: term.size < 0 ? "bar minus" : "bar plus",
      }));
  });
  if (entry.terms.length > MOST_TERMS) {
    box.append(shape("text", { x: 80, y: 42 + ROW * MOST_TERMS, class: "name" },
      `and ${entry.terms.length - MOST_TERMS} more`));
  }
  return box;
}

function headOf(entry) {
  if (entry.terms.length > 1) return `sum ${entry.question.slice(entry.question.lastIndexOf(">"))}`;
  return entry.question;
}

function drawLeaf(report, entry, place) {
  const share = entry.mass.reduce((a, b) => a + b, 0);
  const bar = mixBar(entry.mass, LEAF_WIDTH - 20, 10);
  bar.setAttribute("transform", "translate(10,46)");
  return shape("g", { transform: `translate(${place.x - LEAF_WIDTH / 2},${place.y})` },
    shape("rect", { class: "box leaf", width: LEAF_WIDTH, height: LEAF_HEIGHT, rx: 8 }),
    shape("text", { x: 10, y: 20, class: "strong" }, shorten(report.classes[entry.label], 16)),
    shape("text", { x: 10, y: 37, class: "name" }, `${percent(share)} of samples`),
    bar);
}

function nodeName(report, entry) {
  const share = percent(entry.mass.reduce((a, b) => a + b, 0));
  if (entry.label === undefined) {
    return `Cut ${entry.cut}: ${entry.question}. ${share} of samples come here.`;
  }
  return `Leaf ${report.classes[entry.label]}: ${share} of samples, `
    + `${mixText(report, entry.mass)}.`;
}

// Draw a tree; `events` has select(n), point(n, element) and leave().
function drawTree(report, tree, events) {
  const { places, width, height } = layOut(tree.nodes);
  const picture = shape("svg", {
    viewBox: `0 0 ${width} ${height}`, class: "tree", role: "group",
    style: `min-width: ${Math.round(0.75 * width)}px; max-width: ${Math.round(1.25 * width)}px`,
    "aria-label": "Cuts from the root down",
  });
  const total = (n) => tree.nodes[n].mass.reduce((a, b) => a + b, 0);
  tree.nodes.forEach((entry, n) => {
    if (entry.label !== undefined) return;
    const yes = Math.max(FLOW * total(entry.yes), 1.5);
    const start = -(yes + Math.max(FLOW * total(entry.no), 1.5)) / 2;
    picture.append(
      flow(places[n], places[entry.yes], tree.nodes[entry.yes], start, entry.yes),
      flow(places[n], places[entry.no], tree.nodes[entry.no], start + yes, entry.no));
    const y = places[n].y + places[n].height + 18;
    picture.append(
      shape("text", { x: places[n].x - 30, y, class: "answer", "text-anchor": "end" }, "yes"),
      shape("text", { x: places[n].x + 30, y, class: "answer" }, "no"));
  });
  tree.nodes.forEach((entry, n) => {
    const node = shape("g", {
      class: "node", tabindex: 0, role: "button", "data-node": n,
      "aria-label": nodeName(report, entry), "aria-pressed": "false",
      onclick: () => events.select(n),
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          events.select(n);
        }
      },
      onpointerenter: () => events.point(n, node), onpointerleave: events.leave,
      onfocus: () => events.point(n, node), onblur: events.leave,
    }, entry.label === undefined ? drawCut(entry, places[n]) : drawLeaf(report, entry, places[n]));
    picture.append(node);
  });
  return picture;
}

// Light up the nodes and ribbons that a sample comes through.
function lightRoute(picture, tree, reach) {
  tree.nodes.forEach((entry, n) => {
    const nCuts = tree.model.threshold.length;
    const here = entry.label === undefined ? reach[entry.node]
      : entry.leaves.reduce((sum, leaf) => sum + reach[nCuts + leaf], 0);
    picture.querySelectorAll(`[data-node="${n}"]`).forEach((part) => {
      part.style.setProperty("--lit", here.toFixed(3));
      part.classList.toggle("lit", here > 0.5);
    });
  });
}

// -- the panel beside the drawing ---------------------------------------------------------

function describeNode(report, tree, n, start) {
  const entry = tree.nodes[n];
  return entry.label === undefined ? describeCut(report, entry) : describeLeaf(report, entry, start);
}

function describeCut(report, entry) {
  const rows = entry.terms.map((term) => [term.name, term.weight, number(term.size, 3)]);
  const parts = [
    make("h3", {}, `Cut ${entry.cut}`),
    make("p", { class: "question" }, entry.question),
  ];
  if (rows.length) {
    parts.push(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Coefficients" },
      table(["variable", "weight (original units)", "coefficient (scaled)"], rows)));
  }
  if (entry.split) {
    parts.push(histogram(report, entry), table(["side", "samples", "classes"], [
      ["yes", String(sumOf(entry.split.yes)), mixText(report, entry.split.yes)],
      ["no", String(sumOf(entry.split.no)), mixText(report, entry.split.no)],
    ]));
  } else {
    parts.push(make("p", { class: "hint" }, "The report was made without data: no distributions."));
  }
  return parts;
}

function sumOf(list) { return list.reduce((a, b) => a + b, 0); }

function histogram(report, entry) {
  const { low, high, counts } = entry.split, n = counts[0].length;
  const width = 320, height = 120, step = width / n;
  const totals = counts[0].map((_, b) => counts.reduce((sum, row) => sum + row[b], 0));
  const most = Math.max(...totals, 1);
  const zero = (width * (0 - low)) / (high - low);
  const picture = shape("svg", {
    viewBox: `-4 -16 ${width + 8} ${height + 40}`, class: "histogram", role: "img",
    "aria-label": `Distribution of sum minus limit by class: ${sumOf(entry.split.no)} samples `
      + `on the side of no, ${sumOf(entry.split.yes)} on the side of yes.`,
  });
  totals.forEach((_, b) => {
    let top = height;
    counts.forEach((row, k) => {
      const size = (height * row[b]) / most;
      top -= size;
      if (size > 0) {
        picture.append(shape("rect", {
          x: b * step + 0.5, y: top, width: step - 1, height: size, fill: classColour(k),
        }));
      }
    });
  });
  picture.append(
    shape("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }),
    shape("line", { x1: zero, x2: zero, y1: -2, y2: height + 4, class: "limit" }),
    shape("text", { x: Math.max(zero - 6, 14), y: -4, "text-anchor": "end" }, "no"),
    shape("text", { x: Math.min(zero + 6, width - 18), y: -4 }, "yes"),
    shape("text", { x: 0, y: height + 18 }, number(low, 3)),
    shape("text", { x: width, y: height + 18, "text-anchor": "end" }, number(high, 3)),
    shape("text", { x: width / 2, y: height + 18, "text-anchor": "middle" }, "sum − limit"));
  return picture;
}

function describeLeaf(report, entry, start) {
  const rows = report.classes.map((name, k) => [
    name, percent(entry.mass[k] / (sumOf(entry.mass) || 1)),
    entry.found ? String(entry.found.counts[k]) : "–",
  ]);
  return [
    make("h3", {}, `Leaf: ${report.classes[entry.label]}`),
    make("p", {}, `${percent(sumOf(entry.mass))} of the training sample is expected here.`),
    table(["class", "share in training", "samples shown"], rows),
    entry.found && entry.found.listed.length ? make("p", {}, "Listed samples here: ",
      entry.found.listed.map((place) => make("button", {
        type: "button", class: "small", onclick: () => start(place),
      }, report.samples[place].name))) : null,
  ];
}

function leafTip(report, entry) {
  const lines = [`${report.classes[entry.label]}: ${mixText(report, entry.mass)}`];
  if (entry.found) {
    lines.push(`${count(sumOf(entry.found.counts), "sample")} of the data shown`);
    const names = entry.found.listed.map((place) => report.samples[place].name);
    if (names.length) lines.push(`such as ${names.join(", ")}`);
  }
  return lines;
}
