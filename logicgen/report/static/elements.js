// Elements of the page. Text from data only ever becomes a text node or an attribute that holds text.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; a key that begins with `on` is an event.
function element(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "polyline", "rect", "text", "title"].includes(name);
  const made = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

// Redraw, and give the focus back to the element with the same `data-key`.
function keepingFocus(draw) {
  const key = document.activeElement?.dataset.key;
  const inExample = byId("example").contains(document.activeElement);
  draw();
  if (key !== undefined && (inExample || document.activeElement === document.body)) {
    [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key)?.focus({ preventScroll: true });
  }
}

const many = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

function formula(text) {
  return element("span", { class: "formula" }, text);
}

function verdict(name) {
  const kind = { exact: "right", correct: "right", incorrect: "wrong", invalid: "wrong" }[name];
  return element("span", { class: `verdict ${kind ?? ""}` }, name);
}

// Show a text next to an element that is under the pointer or has the focus.
function tipped(target, text) {
  const show = () => {
    const tip = byId("tip");
    tip.textContent = text;
    tip.hidden = false;
    const at = target.getBoundingClientRect();
    const left = Math.min(at.right + 6, innerWidth - tip.offsetWidth - 6);
    tip.style.left = `${Math.max(left, 0)}px`;
    tip.style.top = `${Math.min(at.bottom + 6, innerHeight - tip.offsetHeight - 6)}px`;
  };
  const hide = () => { byId("tip").hidden = true; };
  target.addEventListener("mouseenter", show);
  target.addEventListener("focus", show);
  target.addEventListener("mouseleave", hide);
  target.addEventListener("blur", hide);
  return target;
}

// A spreadsheet would read a field with such a beginning as a formula.
const COMMAND = /^(?:[=@\t]|[+-](?![\d.>]))/;

function csv(rows) {
  const field = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && COMMAND.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",")).join("\n") + "\n";
}

async function copy(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  const said = button.textContent;
  button.textContent = done ? "Copied" : "The browser does not allow copying";
  setTimeout(() => { button.textContent = said; }, 1500);
}
