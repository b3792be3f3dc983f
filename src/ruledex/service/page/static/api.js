// Asks the service. What it refuses is thrown as a Problem, with the words of its problem details.
import { h, newId, sentence } from "./dom.js";
import { parseJson, toJson } from "./json.js";

const TOKEN = "ruledex-token"; // kept for this tab only

export class Problem extends Error {
  constructor(status, details) {
    super(details.title ?? "The service failed");
    this.status = status; // 0: there was no answer
    this.details = details;
  }

  get text() {
    const { detail, hint } = this.details;
    return [this.message, detail, hint].filter(Boolean).map(sentence).join(" ");
  }
}

const OFFLINE = { title: "The service cannot be reached", detail: "it may be stopped, or this device is offline. What you wrote is kept" };
const wait = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });

/** Returns a path with values in it, each encoded: at`v1/indexes/${name}`. */
export const at = (parts, ...values) => parts.reduce((path, part, i) => path + encodeURIComponent(values[i - 1]) + part);

/** Asks, and returns the answer as {value, etag}. A 503 is asked again twice, after the time that it names. */
export async function ask(method, path, { query = {}, body, headers = {}, signal } = {}) {
  const url = new URL(path, new URL(".", document.baseURI.split("#")[0]));
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
  }
  const isQuestion = method === "GET" || method === "POST";
  for (let turn = 0; ; turn++) {
    const token = sessionStorage.getItem(TOKEN);
    const sent = { ...headers };
    if (token) sent.authorization = `Bearer ${token}`;
    if (body !== undefined) sent["content-type"] = "application/json";
    let response;
    let value;
    try {
      response = await fetch(url, { method, headers: sent, body: typeof body === "string" ? body : toJson(body), signal, cache: "no-store" });
      value = response.headers.get("content-type")?.includes("json") ? parseJson(await response.text()) : {};
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, OFFLINE);
    }
    if (response.ok) return { value, etag: response.headers.get("etag") };
    if (response.status === 401) {
      await askForToken(token ? "This token is not valid. It may have been removed." : "");
      continue;
    }
    if ((response.status === 503 || response.status === 429) && isQuestion && turn < 2) {
      await wait(Math.min(5, Number(response.headers.get("retry-after")) || 1));
      continue;
    }
    throw new Problem(response.status, value);
  }
}

export const get = async (path, query, signal) => (await ask("GET", path, { query, signal })).value;
export const post = async (path, body, query, signal) => (await ask("POST", path, { body, query, signal })).value;

let asking = null; // one dialog for all requests that wait for a token

/** Shows the dialog for a token. Returns when one was given. */
export function askForToken(problem = "") {
  asking ??= new Promise((resolve) => {
    const [titleId, problemId] = [newId("title"), newId("problem")];
    const input = h("input", { type: "password", id: newId("field"), required: true, autocomplete: "off", "aria-describedby": problemId });
    const give = (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, input.value.trim());
      dialog.close();
      dialog.remove();
      asking = null;
      dispatchEvent(new Event("token"));
      resolve();
    };
    const dialog = h("dialog", { className: "token", "aria-labelledby": titleId, oncancel: (event) => event.preventDefault() },
      h("form", { onsubmit: give },
        h("h2", { id: titleId }, "This service needs a token"),
        h("p", {}, "Ask whoever runs the service for one. It is kept in this tab, and forgotten when the tab closes."),
        h("div", { className: "field" }, h("label", { htmlFor: input.id }, "Token"), input),
        h("p", { id: problemId, className: "wrong", role: "alert" }, problem),
        h("div", { className: "buttons" }, h("button", { type: "submit", className: "main" }, "Use this token"))));
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
  return asking;
}

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
}

/** Returns a message about something that was refused, with what can be done about it. `index` is what it was about. */
export function problemBox(error, again, index = "") {
  if (!(error instanceof Problem)) throw error;
  const actions = [];
  if (again) actions.push(h("button", { type: "button", onclick: again }, "Try again"));
  if (error.status === 403) {
    actions.push(h("button", { type: "button", onclick: async () => { await askForToken(); again?.(); } }, "Use another token"));
  }
  const request = error.details.request;
  return h("div", { className: "box wrong-box", role: "alert" },
    h("p", {}, h("strong", {}, titleOf(error)), " ", detailOf(error, index)),
    request ? h("p", { className: "hint" }, `Request ${request}`) : null,
    actions.length ? h("div", { className: "buttons" }, actions) : null);
}

const titleOf = ({ status, message }) => ({ 503: "The service is busy.", 429: "Too many requests." })[status] ?? sentence(message);
const NOT_ALLOWED = "Ask whoever runs the service for a token that may.";

function detailOf(error, index) {
  const scope = /scope (\w+)/.exec(error.text)?.[1];
  if (error.status === 403 && index && scope) return `It may not ${{ read: "read", write: "change rules of" }[scope] ?? "manage"} the index ${index} (scope ${scope}). ${NOT_ALLOWED}`;
  return error.status === 503 ? `${error.text} Nothing was changed. Try again in a moment.` : error.text.slice(sentence(error.message).length).trim();
}
