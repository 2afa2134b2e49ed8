// What the pages of trees and of forests share: putting parts in place, tips, copies.

// Put parts into an element in place of what was there; null is left out.
function put(id, ...parts) { byId(id).replaceChildren(...parts.flat().filter((part) => part !== null)); }

function showLegend(report) {
  put("legend", report.classes.map((name, k) => make("li", {},
    make("span", { style: `background: ${targetOf(report).colour(report, k)}`, "aria-hidden": "true" }), name)));
}

// -- tips ----------------------------------------------------------------------------------

function showTip(lines, button) {
  const tip = byId("tip"), box = button.getBoundingClientRect();
  tip.replaceChildren(...lines.map((line) => make("span", {}, line)));
  tip.hidden = false;
  const left = Math.max(Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8), 8);
  const below = box.bottom + 6 + tip.offsetHeight <= window.innerHeight;
  tip.style.left = `${left + window.scrollX}px`;
  tip.style.top = `${(below ? box.bottom + 6 : box.top - 6 - tip.offsetHeight) + window.scrollY}px`;
}

function hideTip() {
  byId("tip").hidden = true;
  document.querySelectorAll("[aria-describedby=tip]").forEach((button) => button.removeAttribute("aria-describedby"));
}

// -- copies --------------------------------------------------------------------------------

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(plain).text());
}

async function copy(name, read) {
  let text = null;
  try {
    text = await read();
    await navigator.clipboard.writeText(text);
  } catch (error) {
    if (text === null || !copyBySelection(text)) {
      byId("copied").textContent = `${name} could not be copied: ${error.message}`;
      return;
    }
  }
  byId("copied").textContent = `${name} copied.`;
}

function copyBySelection(text) {
  const before = document.activeElement, area = make("textarea", { class: "offstage", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before.focus();
  return done;
}

// -- begin ---------------------------------------------------------------------------------

function listen() {
  byId("values").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
}
