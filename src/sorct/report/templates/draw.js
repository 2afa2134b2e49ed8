// Elements, numbers and colours. Text goes into text nodes, never into markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function shape(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function byId(id) { return document.getElementById(id); }

function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const text = Number(value.toPrecision(digits));
  const size = Math.abs(text);
  return size >= 1e6 || size < 1e-4 ? text.toExponential() : String(text);
}

function percent(share, digits = 1) {
  if (share === null || share === undefined) return "–";
  return `${(100 * share).toFixed(digits)} %`;
}

function count(n, one, many) { return `${n} ${n === 1 ? one : many || one + "s"}`; }

// Strengths are mostly powers of two.
function strength(alpha) {
  const power = Math.log2(alpha);
  if (!(alpha > 0) || !Number.isInteger(power) || Math.abs(power) < 2) return number(alpha);
  const raised = [...String(Math.abs(power))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  return `2${power < 0 ? "⁻" : ""}${raised}`;
}

function shorten(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 3);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

// Eight colours that the colour-blind tell apart; more classes get a pattern of greys.
const N_COLOURS = 8;
function classColour(k) {
  return k < N_COLOURS ? `var(--class-${k})` : `hsl(${(k * 47) % 360} 35% 55%)`;
}

// A bar divided by class.
function mixBar(parts, width, height) {
  const total = parts.reduce((a, b) => a + b, 0) || 1;
  const bar = shape("g", {});
  let left = 0;
  parts.forEach((part, k) => {
    const size = (width * part) / total;
    if (size > 0.2) {
      bar.append(shape("rect", {
        x: left, y: 0, width: size, height, fill: classColour(k), class: "mix",
      }));
    }
    left += size;
  });
  return bar;
}

function mixText(report, parts) {
  const total = parts.reduce((a, b) => a + b, 0);
  if (!(total > 0)) return "nobody";
  return parts.map((part, k) => [part / total, report.classes[k]])
    .filter(([share]) => share >= 0.005)
    .sort((a, b) => b[0] - a[0]).slice(0, 4)
    .map(([share, name]) => `${Math.round(100 * share)} % ${name}`).join(", ");
}

function table(head, rows, caption) {
  return make("table", {},
    caption ? make("caption", {}, caption) : null,
    make("thead", {}, make("tr", {}, head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, rows.map(([first, ...rest]) => make("tr", {},
      make("th", { scope: "row" }, first), rest.map((text) => make("td", {}, text))))));
}
