// Elements, numbers, text that fits, colours. Text goes into text nodes, never into markup.

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

// What the page tells of classes or, where the summary says so, of a quantity.
function targetOf({ task }) { return task === "quantity" ? QUANTITY : CLASSES; }

// -- numbers -------------------------------------------------------------------------------

function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  return written(Number(value.toPrecision(digits)).toExponential());
}

// A number that is given as text, written out where people can read it so, thousands apart.
function written(text) {
  const found = /^([-−]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text);
  if (!found) return text;
  const sign = found[1] ? "−" : "", value = Math.abs(Number(text.replace("−", "-")));
  if (value !== 0 && !(value >= 1e-4 && value < 1e9)) return sign + text.replace(/^[-−]/, "");
  const shift = Number(found[4] || 0), digits = found[2] + (found[3] || "");
  const point = found[2].length + shift;
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, "0") : "0";
  const rest = point > 0 ? digits.slice(point) : "0".repeat(-point) + digits;
  return sign + apart(whole) + (rest ? `.${rest}` : "");
}

// Digits by threes; four stay together, as in a year.
function apart(digits) {
  return digits.length < 5 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function percent(share, digits = 1) {
  if (share === null || share === undefined) return "–";
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}

// A probability is never said to be 0 or 1 by rounding alone.
function chance(value) {
  if (value < 0.001) return "<\u00a00.1\u00a0%";
  return value > 0.999 ? ">\u00a099.9\u00a0%" : percent(value);
}

// Digits that tell values apart which differ by a step, at most as many as there are.
function digitsFor(value, step) {
  if (!(step > 0) || value === 0) return 6;
  return Math.min(Math.max(Math.ceil(Math.log10(Math.abs(value) / step)) + 1, 4), 17);
}

function rangeText(variable) {
  const upper = variable.lower + variable.span;
  if (variable.origin) return `${dayText(variable, variable.lower)} to ${dayText(variable, upper)}`;
  const digits = digitsFor(Math.max(Math.abs(variable.lower), Math.abs(upper)), variable.span / 100);
  return `${number(variable.lower, digits)} to ${number(upper, digits)}`;
}

// A date that is so many days after the origin of its variable, and back.
const DAY = 86400000;
function dayText({ origin }, days) {
  return new Date(Date.parse(origin) + Math.floor(days) * DAY).toISOString().slice(0, 10);
}
function daysOf({ origin }, text) { return text ? (Date.parse(text) - Date.parse(origin)) / DAY : NaN; }

function count(n, one, many) { return `${apart(String(n))} ${n === 1 ? one : many || one + "s"}`; }

function sumOf(list) { return list.reduce((a, b) => a + b, 0); }

// Strengths are mostly powers of two.
function strength(alpha) {
  const power = Math.log2(alpha);
  if (!(alpha > 0) || !Number.isInteger(power) || Math.abs(power) < 2) return number(alpha);
  const raised = [...String(Math.abs(power))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  return `2${power < 0 ? "⁻" : ""}${raised}`;
}

// -- text that fits ------------------------------------------------------------------------

const pen = document.createElement("canvas").getContext("2d");
const PLAIN = "12px", BOLD = "700 13px", FAMILY = getComputedStyle(document.body).fontFamily;

function textWidth(text, font = PLAIN) {
  pen.font = `${font} ${FAMILY}`;
  return pen.measureText(text).width;
}

// Largest n up to most for which a text of n letters fits; `of` gives the text.
function lettersThatFit(most, of, room, font) {
  let low = 0, high = most;
  while (low < high) {
    const n = Math.ceil((low + high) / 2);
    if (textWidth(of(n), font) <= room) low = n;
    else high = n - 1;
  }
  return low;
}

// The text, with its middle left out where it is too wide.
function fitted(text, room, font = PLAIN) {
  const letters = [...text];
  if (letters.length < 500 && textWidth(text, font) <= room) return text;
  const cut = (n) => {
    const tail = Math.floor(n / 3);
    return `${letters.slice(0, n - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
  };
  return cut(lettersThatFit(Math.min(letters.length, 500), cut, room, font));
}

// So many lines at most, broken at a space where there is one.
function linesOf(text, room, most, font) {
  if (most === 1) return [fitted(text, room, font)];
  const letters = [...text], start = (n) => letters.slice(0, n).join("");
  const n = lettersThatFit(Math.min(letters.length, 500), start, room, font);
  if (n === letters.length) return [text];
  const space = start(n + 1).lastIndexOf(" ");
  const first = space > 0 ? start(n + 1).slice(0, space) : start(n);
  return [first, ...linesOf(text.slice(first.length).trim(), room, most - 1, font)];
}

// -- colours -------------------------------------------------------------------------------

// Eight colours that the colour-blind tell apart; more classes than that get hues by turns.
const N_COLOURS = 8;
function classColour(k) {
  return k < N_COLOURS ? `var(--class-${k})` : `hsl(${(k * 47) % 360} 35% 55%)`;
}

// A bar divided by class.
function mixBar(parts, width, height) {
  const total = sumOf(parts) || 1;
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
  const total = sumOf(parts);
  if (!(total > 0)) return "nobody";
  return parts.map((part, k) => [part / total, report.classes[k]])
    .filter(([share]) => share >= 0.005)
    .sort((a, b) => b[0] - a[0]).slice(0, 4)
    .map(([share, name]) => `${percent(share, 0)} ${name}`).join(", ");
}

// -- tables --------------------------------------------------------------------------------

function table(head, rows, caption) {
  return make("table", {},
    caption ? make("caption", {}, caption) : null,
    make("thead", {}, make("tr", {}, head.map((text) => (
      text === "" ? make("td", {}) : make("th", { scope: "col" }, text))))),
    make("tbody", {}, rows.map(([first, ...rest]) => make("tr", {},
      make("th", { scope: "row" }, first), rest.map((text) => make("td", {}, text))))));
}

function scrolling(label, child, kind = "scroll") {
  return make("div", { class: kind, tabindex: 0, role: "region", "aria-label": label }, child);
}
