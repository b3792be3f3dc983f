// Builds elements. Text always goes in as text nodes: rules and events are never read as markup.

/** Returns an element. Properties that begin with `on` are listeners, `class` and names with a hyphen are attributes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.entries(value).forEach(([key, one]) => element.style.setProperty(key, one));
    else if (name in element && !name.includes("-") && name !== "list") element[name] = value;
    else element.setAttribute(name === "className" ? "class" : name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let lastId = 0;

/** Returns an id that no other element has. */
export const newId = (name) => `${name}-${++lastId}`;

/** Returns a labelled field; `hint` is read with it. */
export function field(label, input, hint = "") {
  input.id ||= newId("field");
  const about = hint && h("span", { className: "hint", id: `${input.id}-hint` }, hint);
  if (hint) input.setAttribute("aria-describedby", about.id);
  return h("div", { className: "field" }, h("label", { htmlFor: input.id }, label), input, about || null);
}

const status = () => document.getElementById("status");

/** Tells readers of a screen something that others see. */
export function announce(text) {
  status().textContent = "";
  // A region that is filled again at once is not read again.
  setTimeout(() => { status().textContent = text; }, 50);
}

const numbers = new Intl.NumberFormat("en");
export const count = (value) => numbers.format(value);
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** Returns a message with a capital letter and a full stop. */
export const sentence = (text) => text && text[0].toUpperCase() + text.slice(1) + (/[.!?:…]$/.test(text) ? "" : ".");

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** Returns a number of bytes for people. */
export function size(bytes) {
  let unit = 0;
  for (; bytes >= 1000 && unit < UNITS.length - 1; unit++) bytes /= 1000;
  return `${unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${UNITS[unit]}`;
}

/** Returns a `time` element: the local time, and how long ago that is. */
export function when(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.valueOf())) return document.createTextNode(iso);
  const seconds = (Date.now() - date) / 1000;
  const steps = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [Infinity, 86400, "day"]];
  const [, length, unit] = steps.find(([most]) => seconds < most);
  const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.max(0, Math.floor(seconds / length)), unit);
  return h("time", { dateTime: iso, title: date.toLocaleString() }, seconds < 86400 * 30 ? ago : date.toLocaleDateString());
}

/** Returns the tag of a value that is loading: `text` is also said to readers of a screen. */
export const loading = (text = "Loading…") => h("p", { className: "loading", role: "status" }, text);

/** Returns a message where nothing is there to show. */
export const empty = (title, ...more) => h("div", { className: "empty" }, h("p", { className: "empty-title" }, title), ...more.map((one) => (one instanceof Node ? one : h("p", {}, one))));

/** Returns a function that runs once no further call came for a while. */
export function debounce(milliseconds, run) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Returns a text with the places marked where a part of it is found. */
export function marked(text, part) {
  if (!part) return [text];
  const found = [];
  const [lower, wanted] = [text.toLowerCase(), part.toLowerCase()];
  if (lower.length !== text.length) return [text]; // places would be wrong
  let from = 0;
  for (let at; (at = lower.indexOf(wanted, from)) >= 0; from = at + wanted.length) {
    found.push(text.slice(from, at), h("mark", {}, text.slice(at, at + wanted.length)));
  }
  return [...found, text.slice(from)];
}

let toldNext = "";

/** Tells something that was done on the page that comes next. */
export const tellNext = (text) => { toldNext = text; };

/** Returns what is to be told on this page, once. */
export function takeTold() {
  const told = toldNext;
  toldNext = "";
  return told;
}

/** Asks a question in a dialog. Returns whether the answer was yes. */
export function confirmed(title, content, yes) {
  return new Promise((resolve) => {
    const titleId = newId("title");
    const close = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
    const dialog = h("dialog", { "aria-labelledby": titleId, oncancel: () => close(false) },
      h("h2", { id: titleId }, title), content,
      h("div", { className: "buttons" },
        h("button", { type: "button", className: "danger", onclick: () => close(true) }, yes),
        h("button", { type: "button", autofocus: true, onclick: () => close(false) }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
  });
}
