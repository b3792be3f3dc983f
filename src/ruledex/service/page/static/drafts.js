// What is kept in this tab: drafts of rules, the last search of an index, and what a token was not allowed to change.
import { parseJson, toJson } from "./json.js";

const draftKey = (name, id) => `ruledex-draft:${name}/${id ?? ""}`;
const searchKey = (name) => `ruledex-search:${name}`;
const readOnlyKey = (name) => `ruledex-read-only:${name}`;

/** Returns the draft of a rule, or null. The id of a new rule is null. */
export function readDraft(name, id) {
  try {
    return parseJson(sessionStorage.getItem(draftKey(name, id)) ?? "null");
  } catch {
    return null;
  }
}

export const keepDraft = (name, id, draft) => sessionStorage.setItem(draftKey(name, id), toJson(draft));
export const dropDraft = (name, id) => sessionStorage.removeItem(draftKey(name, id));

export const keepSearch = (name, search) => sessionStorage.setItem(searchKey(name), search);

/** Returns the address of the rules of an index, as they were last searched. */
export const rulesAddress = (name) => `#/${encodeURIComponent(name)}/rules${sessionStorage.getItem(searchKey(name)) ?? ""}`;

/** The service says what a token may do only when it refuses. */
export const noteReadOnly = (name) => sessionStorage.setItem(readOnlyKey(name), "1");
export const isReadOnly = (name) => sessionStorage.getItem(readOnlyKey(name)) !== null;

addEventListener("token", () => {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(readOnlyKey(""))) sessionStorage.removeItem(key);
});
