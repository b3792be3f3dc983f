// JSON whose integers keep all their digits: ids have up to 19, and a number of JavaScript has 15.

const isLong = (value, source) => !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "");

/** Reads JSON. Integers that a number cannot hold become BigInts. */
export const parseJson = (text) => JSON.parse(text, (_, value, context) => (typeof value === "number" && isLong(value, context?.source) ? BigInt(context.source) : value));

/** Writes JSON; BigInts become integers again. */
export const toJson = (value, indent) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? JSON.rawJSON(String(one)) : one), indent);

const PARTS = { blank: /[ \t\n\r]*/y, text: /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y, plain: /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y };

/** Returns where a text stops being JSON, and what should be there, for people who do not program. Browsers differ in that. */
export function jsonFault(text) {
  let at = 0;
  const take = (part) => {
    PARTS[part].lastIndex = at;
    const found = PARTS[part].exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const sign = (...wanted) => {
    take("blank");
    return wanted.includes(text[at]) ? text[at++] : "";
  };
  const expect = (message) => { throw new Fault(at >= text.length ? `the text ends here, and ${message} is missing` : `${message} should be here`); };
  const string = (message) => {
    take("blank");
    if (take("text") !== undefined) return;
    if (text[at] === '"') throw new Fault("this text in double quotes does not end, or has a character that needs a backslash");
    expect(message);
  };
  const value = () => {
    const open = sign("{", "[");
    if (!open) return take("plain") === undefined ? string("a value, such as 20, \"text\", true or null,") : undefined;
    const close = open === "{" ? "}" : "]";
    if (sign(close)) return;
    do {
      if (open === "{") {
        string("a name in double quotes");
        if (!sign(":")) expect("a colon");
      }
      value();
    } while (sign(","));
    if (!sign(close)) expect(`a comma or ${close}`);
  };
  let message = "it cannot be read";
  try {
    value();
    take("blank");
    if (at < text.length) message = "nothing more should follow here";
  } catch (error) {
    if (error instanceof Fault) message = error.message; // otherwise it is nested too deeply to be looked at
  }
  const lines = text.slice(0, at).split("\n");
  return { line: lines.length, column: [...lines.at(-1)].length + 1, message };
}

class Fault extends Error {}
