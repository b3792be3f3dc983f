// The frame of the page: which view a place has, the header, light and dark.
import { askForToken, forgetToken, hasToken, Problem, problemBox } from "./api.js";
import { coverageView } from "./coverage.js";
import { announce, h, takeTold } from "./dom.js";
import { indexesView, indexView } from "./indexes.js";
import { newRuleView, ruleView } from "./rule.js";
import { rulesView } from "./rules.js";
import { tryView } from "./try.js";

const main = document.getElementById("main");
const notices = document.getElementById("notices");
const SECTIONS = [["", "Overview"], ["rules", "Rules"], ["try", "Try an event"], ["coverage", "Coverage"]];
let leaving = new AbortController();

/** Reads the place: #/index/section/id?query. */
function route() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = ["", "?"]; // no place that there is
  }
  const [name, section = "", id] = parts;
  return { name, section, id, n: parts.length, query: new URLSearchParams(search) };
}

function viewOf({ name, section, id, n }) {
  if (n === 0) return ["Indexes", indexesView];
  if (n === 1 && name) return [name, indexView];
  if (n === 2 && section === "rules") return [`Rules of ${name}`, rulesView];
  if (n === 3 && section === "rules") return [`Rule ${id} of ${name}`, ruleView];
  if (n === 2 && section === "new") return [`New rule of ${name}`, newRuleView];
  if (n === 2 && section === "try") return [`Try an event on ${name}`, tryView];
  if (n === 2 && section === "coverage") return [`Coverage of ${name}`, coverageView];
  return ["Not found", () => h("div", {}, h("h1", {}, "There is nothing here"), h("p", {}, h("a", { href: "#/" }, "All indexes")))];
}

/** Shows the view of the place. `isFirst`: the page was just opened, and the focus stays where the browser put it. */
async function show(isFirst = false) {
  if (location.hash === "#main") { // the link that skips the header
    if (!main.contains(document.activeElement)) main.focus(); // this may come late: who has gone on is not called back
    return;
  }
  const place = route();
  const [title, view] = viewOf(place);
  leaving.abort();
  leaving = new AbortController();
  document.title = `${title} · ruledex`;
  showPlace(place);
  showTold(takeTold());
  main.setAttribute("aria-busy", "true");
  try {
    main.replaceChildren(view({ ...place, signal: leaving.signal }));
  } finally {
    main.removeAttribute("aria-busy");
  }
  if (!isFirst) {
    window.scrollTo(0, 0);
    const heading = main.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
    announce(title);
  }
}

function showTold(text) {
  notices.querySelector(".told")?.remove();
  if (text) notices.append(h("p", { className: "told", role: "status" }, text));
}

function showPlace({ name, section }) {
  const place = document.getElementById("place");
  if (!name) return place.replaceChildren();
  const base = `#/${encodeURIComponent(name)}`;
  const here = section === "new" ? "rules" : section;
  place.replaceChildren(
    h("a", { className: "index-name", href: base }, name),
    h("ul", {}, SECTIONS.map(([part, title]) => h("li", {},
      h("a", { href: part ? `${base}/${part}` : base, "aria-current": here === part ? "page" : undefined }, title)))));
}

// Light and dark.

const themeButton = document.getElementById("theme");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; themeButton.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours"); };
themeButton.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("ruledex-theme", document.documentElement.dataset.theme);
  nameTheme();
});
prefersDark.addEventListener("change", nameTheme);
nameTheme();

// The token, and whether there is a network.

const tokenButton = document.getElementById("token");
const showToken = () => { tokenButton.hidden = !hasToken(); };
tokenButton.addEventListener("click", async () => {
  forgetToken();
  await askForToken();
  show();
});
addEventListener("token", showToken);
showToken();

const showNetwork = () => {
  notices.querySelector(".offline")?.remove();
  if (!navigator.onLine) notices.append(h("p", { className: "offline", role: "alert" }, "This device is offline. What you write is kept, and cannot be saved yet."));
};
addEventListener("online", showNetwork);
addEventListener("offline", showNetwork);
showNetwork();

// What no view has handled.

addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "AbortError") return event.preventDefault(); // the view was left
  if (!(event.reason instanceof Problem)) return;
  event.preventDefault();
  main.prepend(problemBox(event.reason));
});
addEventListener("hashchange", () => show());
show(true);
