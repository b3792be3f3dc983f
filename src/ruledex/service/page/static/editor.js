// The editor of a rule: a text area over the same text in colours. What is a word, an error or a completion is asked
// from the service, so that the language lives in one place. The answer of an older text never replaces a newer one.
import { post, Problem } from "./api.js";
import { announce, debounce, h, newId, sentence } from "./dom.js";

const PAUSE = 120; // milliseconds without a key before the service is asked
const [LEAST_HEIGHT, MOST_HEIGHT] = [96, 240]; // pixels of the list of suggestions

/** The service counts characters, and JavaScript counts units of UTF-16: these go from one to the other. */
const unitsAt = (text, characters) => [...text].slice(0, characters).join("").length;
const charactersAt = (text, units) => [...text.slice(0, units)].length;

export class RuleEditor {
  /** `changed` is called with each change of the text, `analysed` with each answer of the service. */
  constructor({ index, text = "", label = "Rule", changed = () => {}, analysed = () => {} }) {
    Object.assign(this, { index, changed, analysed });
    const [id, listId, problemsId, helpId] = ["rule", "completions", "problems", "help"].map(newId);
    this.area = h("textarea", {
      id, value: text, rows: 1, spellcheck: false, autocomplete: "off", autocapitalize: "off", wrap: "soft",
      "aria-autocomplete": "list", "aria-controls": listId, "aria-describedby": `${problemsId} ${helpId}`,
      oninput: () => this.typed(), onkeydown: (event) => this.pressed(event), onblur: () => this.hide(),
      onscroll: () => { this.colours.scrollTop = this.area.scrollTop; }, onclick: () => this.hide(),
    });
    this.colours = h("pre", { className: "colours", "aria-hidden": "true" });
    this.list = h("ul", { id: listId, className: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
    this.problems = h("ul", { id: problemsId, className: "problems", "aria-label": "Errors and advice" });
    this.element = h("div", { className: "editor" },
      h("label", { htmlFor: id }, label),
      h("div", { className: "editor-frame" }, this.colours, this.area, this.list),
      h("p", { className: "hint", id: helpId }, "Suggestions appear as you type. Choose one with the arrow keys, and take it with Enter or Tab. Ctrl and Space show all."),
      this.problems);
    this.marks = { tokens: [], places: [] }; // of `markedText`, in units of UTF-16
    this.markedText = "";
    this.options = [];
    this.active = -1;
    this.turn = 0;
    this.later = debounce(PAUSE, (completing) => this.analyse(completing));
    this.paint();
    queueMicrotask(() => this.analyse(false)); // once the caller has the editor
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.hide();
    this.paint();
    this.analyse(false);
  }

  typed() {
    this.turn++; // what is still under way is about an older text
    this.paint();
    this.narrow();
    this.changed();
    this.later("typed");
  }

  async analyse(completing) {
    const [turn, text] = [++this.turn, this.text];
    this.later.cancel();
    if (!text.trim() && !completing) return this.show(text, null);
    const position = completing ? charactersAt(text, this.area.selectionStart) : undefined;
    let answer;
    try {
      answer = await post("v1/language/analyse", { text, index: this.index, position });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (turn === this.turn) this.show(text, null, error);
      return;
    }
    if (turn !== this.turn) return;
    this.show(text, answer);
    if (completing && document.activeElement === this.area) this.offer(text, answer.completions, completing === "asked");
  }

  show(text, answer, problem) {
    this.markedText = text;
    this.answer = answer;
    const span = ({ begin, end, kind }) => ({ begin: unitsAt(text, begin), end: unitsAt(text, end), kind });
    const tokens = (answer?.tokens ?? []).map(span);
    const faults = faultsOf(text.trim() ? answer : null);
    for (const fault of faults) Object.assign(fault, rangeOf(text, tokens, fault.place && unitsAt(text, fault.place.position)));
    this.marks = { tokens, places: faults.filter((fault) => fault.begin !== undefined) };
    const isWrong = faults.some((fault) => fault.severity === "error");
    this.area.toggleAttribute("aria-invalid", false);
    if (isWrong) this.area.setAttribute("aria-invalid", "true");
    this.paint();
    const items = faults.map((fault) => this.problemItem(fault));
    if (problem) items.push(h("li", { className: "warning" }, h("span", { className: "problem-text" }, `The rule cannot be checked now. ${problem.text}`)));
    this.problems.replaceChildren(...items);
    if (isWrong && faults[0].message !== this.said) announce(`Error: ${faults[0].message}`);
    this.said = isWrong ? faults[0].message : "";
    this.analysed(answer, problem);
  }

  problemItem({ severity, message, advice, place, begin, code }) {
    const go = () => { this.area.focus(); this.area.setSelectionRange(begin, begin); };
    return h("li", { className: severity },
      h("span", { className: "severity" }, { error: "Error", warning: "Warning", note: "Note" }[severity]),
      h("span", { className: "problem-text" }, sentence(message), advice ? h("span", { className: "advice" }, ` ${sentence(advice)}`) : null,
        code ? h("code", { className: "code" }, code) : null),
      place ? h("button", { type: "button", className: "link", onclick: go }, `line ${place.line}, column ${place.column}`) : null);
  }

  /** Paints the text. Marks of an older text stay where the text around them is the same. */
  paint() {
    const text = this.text;
    const move = mover(this.markedText, text);
    const tokens = this.marks.tokens.map((token) => ({ ...token, ...move(token) })).filter((token) => token.end > token.begin);
    const places = this.marks.places.map((place) => ({ ...place, ...move(place) })).filter((place) => place.end > place.begin);
    const cuts = [0, text.length, ...[...tokens, ...places].flatMap(({ begin, end }) => [begin, Math.min(end, text.length)])];
    const sorted = [...new Set(cuts)].sort((left, right) => left - right);
    const pieces = sorted.slice(0, -1).map((begin, i) => {
      const piece = text.slice(begin, sorted[i + 1]);
      const token = tokens.find((one) => one.begin <= begin && begin < one.end);
      const place = places.find((one) => one.begin <= begin && begin < one.end);
      const names = [token && `t-${token.kind}`, place && `fault fault-${place.severity}`].filter(Boolean).join(" ");
      return names ? h("span", { className: names }, piece) : piece;
    });
    const beyond = places.find((place) => place.begin >= text.length); // an error at the end has a sign of its own
    this.colours.replaceChildren(...pieces, beyond ? h("span", { className: `fault at-end fault-${beyond.severity}` }, " ") : "", "\n");
  }

  // Completions.

  offer(text, completions, all) {
    const caret = this.area.selectionStart;
    const options = completions.map((one) => ({ ...one, from: unitsAt(text, one.begin) }));
    const typed = options.length ? text.slice(options[0].from, caret) : "";
    const isInWord = /^[\p{L}\p{N}_]/u.test(text.slice(caret)); // what follows the caret would stay behind a suggestion
    const isComplete = isNumber(typed) || options.some((one) => isSameWord(one.text, typed));
    const isOpenValue = options.some((one) => one.kind === "value");
    if (!options.length || isInWord || (!all && (isComplete || (!typed && !isOpenValue)))) return this.hide();
    this.options = options;
    this.list.replaceChildren(...options.map((one, i) => h("li", {
      id: `${this.list.id}-${i}`, role: "option", "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); this.accept(i); },
    }, h("span", { className: `completion t-${one.kind}` }, one.text), h("span", { className: "kind" }, one.detail || one.kind))));
    this.list.hidden = false;
    this.place(options[0].from);
    this.unchoose();
    // Only what can hardly be anything else is chosen without a key: Enter and Tab would replace what is written.
    if (options.length === 1 && typed && !isComplete && !isInString(this.marks.tokens, caret)) this.choose(0);
    announce(options.length === 1 ? `A suggestion: ${options[0].text}` : `${options.length} suggestions, the first is ${options[0].text}`);
  }

  /** Keeps a list open only while what is typed begins one of its words. None is chosen until the service has answered. */
  narrow() {
    if (this.list.hidden) return;
    const typed = this.text.slice(this.options[0].from, this.area.selectionStart).toLowerCase();
    if (!typed || !this.options.some((one) => one.text.toLowerCase().startsWith(typed))) this.hide();
    else this.unchoose();
  }

  /** Puts the list under the word that it completes, or above it where it would cover the messages under the editor. */
  place(unit) {
    const frame = this.area.parentElement.getBoundingClientRect();
    const range = document.createRange();
    let left = unit;
    for (const node of textNodes(this.colours)) {
      if (left <= node.length) {
        range.setStart(node, left);
        break;
      }
      left -= node.length;
    }
    range.collapse(true);
    const rect = range.getClientRects()[0] ?? range.startContainer.parentElement?.getBoundingClientRect() ?? frame;
    const x = Math.max(0, Math.min(rect.left - frame.left, frame.width - this.list.offsetWidth));
    this.list.style.setProperty("left", `${x}px`);
    const below = Math.min(rect.bottom, frame.bottom) + 4;
    const room = this.problems.children.length ? this.problems.getBoundingClientRect().top - below - 4 : MOST_HEIGHT;
    const isBelow = room >= Math.min(LEAST_HEIGHT, this.list.scrollHeight);
    this.list.style.setProperty("max-height", `${Math.min(MOST_HEIGHT, isBelow ? room : MOST_HEIGHT)}px`);
    this.list.style.setProperty("top", isBelow ? `${below - frame.top}px` : "auto");
    this.list.style.setProperty("bottom", isBelow ? "auto" : `${frame.bottom - rect.top + 4}px`);
  }

  choose(i) {
    this.unchoose();
    this.active = (i + this.options.length) % this.options.length;
    const chosen = this.list.children[this.active];
    chosen.setAttribute("aria-selected", "true");
    // Not scrollIntoView: it would scroll the page as well.
    if (chosen.offsetTop < this.list.scrollTop) this.list.scrollTop = chosen.offsetTop;
    else if (chosen.offsetTop + chosen.offsetHeight > this.list.scrollTop + this.list.clientHeight) {
      this.list.scrollTop = chosen.offsetTop + chosen.offsetHeight - this.list.clientHeight;
    }
    this.area.setAttribute("aria-activedescendant", chosen.id);
  }

  /** Returns the number of the suggestion that a key leads to: the arrows go round, pages end at the ends. */
  next(step) {
    if (Math.abs(step) > 1) return Math.max(0, Math.min(this.options.length - 1, this.active + step));
    return this.active < 0 && step < 0 ? -1 : this.active + step;
  }

  unchoose() {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = -1;
    this.area.removeAttribute("aria-activedescendant");
  }

  accept(i) {
    const { text, from } = this.options[i];
    this.area.focus();
    this.area.setRangeText(text, from, this.area.selectionStart, "end");
    this.hide();
    this.typed();
  }

  hide() {
    this.unchoose();
    this.list.hidden = true;
    this.options = [];
  }

  pressed(event) {
    if (event.isComposing) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.analyse("asked");
    } else if (!this.list.hidden) {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
      const isTaken = this.active >= 0 && (event.key === "Enter" || event.key === "Tab") && !event.shiftKey;
      if (step) this.choose(this.next(step));
      else if (isTaken) this.accept(this.active);
      else if (event.key === "Escape") this.hide();
      else {
        if (["ArrowLeft", "ArrowRight", "Home", "End", "Enter", "Tab"].includes(event.key)) this.hide();
        return;
      }
      event.preventDefault();
    }
  }
}

const isNumber = (typed) => /^[-+]?\.?\d/.test(typed);
const isSameWord = (left, right) => left.toLowerCase() === right.toLowerCase();
const isInString = (tokens, unit) => tokens.some(({ kind, begin, end }) => kind === "string" && begin < unit && unit < end);

/** Returns the error and the findings of an answer in one shape, errors first. */
function faultsOf(answer) {
  if (!answer) return [];
  const { error, findings } = answer;
  const found = error ? [{ severity: "error", message: error.message, advice: error.hint ?? "", place: error.place }] : [];
  return [...found, ...findings.map(({ severity, message, suggestion, place, code }) => ({ severity, message, advice: suggestion, place, code }))];
}

/** Returns what to underline for an offset: the word there, or one character. */
function rangeOf(text, tokens, unit) {
  if (unit === undefined || unit === null) return {};
  const token = tokens.find(({ begin, end }) => begin <= unit && unit < end);
  if (token && token.kind !== "error") return { begin: unit, end: token.end };
  return { begin: unit, end: unit + String.fromCodePoint(text.codePointAt(unit) ?? 32).length };
}

/** Returns a function that moves spans of one text to where they are in another that differs in one place. */
function mover(before, after) {
  if (before === after) return (span) => span;
  const most = Math.min(before.length, after.length);
  let same = 0;
  while (same < most && before[same] === after[same]) same++;
  let tail = 0;
  while (tail < most - same && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const moved = after.length - before.length;
  return ({ begin, end }) => {
    if (end <= same) return { begin, end };
    if (begin >= before.length - tail) return { begin: begin + moved, end: end + moved };
    return { begin: 0, end: 0 }; // it is in the part that changed
  };
}

function* textNodes(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) yield node;
}
