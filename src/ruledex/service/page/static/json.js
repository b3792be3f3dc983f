// JSON whose integers keep all their digits: ids have up to 19, and a number of JavaScript has 15.

const isLong = (value, source) => !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "");

/** Reads JSON. Integers that a number cannot hold become BigInts. */
export const parseJson = (text) => JSON.parse(text, (_, value, context) => (typeof value === "number" && isLong(value, context?.source) ? BigInt(context.source) : value));

/** Writes JSON; BigInts become integers again. */
export const toJson = (value, indent) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? JSON.rawJSON(String(one)) : one), indent);
