"""Which events a query of Elasticsearch matches, evaluated value by value. It shares nothing with the reader.

Dates are whole milliseconds since 1970, and rounding up gives the last millisecond of a unit, as Elasticsearch does it.
"""

from __future__ import annotations

import calendar
import ipaddress
import re
from datetime import UTC, datetime, timedelta, timezone

UTC = UTC
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Evaluator:
    """Evaluates queries for a mapping of names to types, at a time."""

    def __init__(self, types, now):
        self.types = types
        self.now = now

    def matches(self, query, event):
        """Return whether a query matches an event."""
        return self.holds(query, event, "")

    def holds(self, query, document, prefix):
        """Return whether a query matches a document. `prefix` is the path of a nested one, with a dot."""
        ((kind, body),) = query.items()
        return getattr(self, f"is_{kind}")(body, document, prefix)

    def values(self, name, document, prefix):
        """Return all values that are not null."""
        if name.endswith(".keyword"):
            name = name.removesuffix(".keyword")
        if not name.startswith(prefix):
            return []
        found, at = [document], prefix
        for step in name.removeprefix(prefix).split("."):
            if self.types.get(at.rstrip(".")) == "nested" and at != prefix:
                return []
            found = [value[step] for value in flat(found) if isinstance(value, dict) and step in value]
            at += step + "."
        return [value for value in flat(found) if value is not None]

    def type_of(self, name):
        return "keyword" if name.endswith(".keyword") else self.types.get(name)

    # Joins.

    def is_bool(self, body, document, prefix):
        def all_in(name):
            given = body.get(name, [])
            return [self.holds(q, document, prefix) for q in (given if isinstance(given, list) else [given])]

        must, should = all_in("must") + all_in("filter"), all_in("should")
        least = 0 if must or not should else 1
        if "minimum_should_match" in body and should:
            least = max(least, needed(body["minimum_should_match"], len(should)))
        return all(must) and not any(all_in("must_not")) and sum(should) >= least

    def is_constant_score(self, body, document, prefix):
        return self.holds(body["filter"], document, prefix)

    def is_boosting(self, body, document, prefix):
        return self.holds(body["positive"], document, prefix)

    def is_dis_max(self, body, document, prefix):
        return any(self.holds(query, document, prefix) for query in body["queries"])

    def is_match_all(self, *_):
        return True

    def is_match_none(self, *_):
        return False

    def is_nested(self, body, document, prefix):
        path = body["path"]
        if not path.startswith(prefix):
            return False
        found = [document]
        for step in path.removeprefix(prefix).split("."):
            found = [value[step] for value in flat(found) if isinstance(value, dict) and step in value]
        return any(self.holds(body["query"], o, path + ".") for o in flat(found) if isinstance(o, dict))

    # Values.

    def is_term(self, body, document, prefix):
        ((name, given),) = body.items()
        given = given if isinstance(given, dict) else {"value": given}
        return any(
            self.same(name, value, given["value"], given.get("case_insensitive", False))
            for value in self.values(name, document, prefix)
        )

    def is_terms(self, body, document, prefix):
        ((name, given),) = body.items()
        return any(self.is_term({name: value}, document, prefix) for value in given)

    def is_terms_set(self, body, document, prefix):
        ((name, given),) = body.items()
        n_found = sum(self.is_term({name: value}, document, prefix) for value in given["terms"])
        if "minimum_should_match" in given:
            return n_found >= max(1, needed(given["minimum_should_match"], len(given["terms"])))
        wanted = [v for v in self.values(given["minimum_should_match_field"], document, prefix) if is_number(v)]
        return any(n_found >= 1 and n_found >= value for value in wanted)

    def same(self, name, value, wanted, any_case):
        kind = self.type_of(name)
        if kind == "text":
            return isinstance(value, str) and wanted in words(value)
        if kind == "date":
            bounds = {"gte": wanted, "lte": wanted}
            return all(self.compares(name, value, op, bound, {}) for op, bound in bounds.items())
        if kind == "ip":
            try:
                return ipaddress.ip_address(value) in ipaddress.ip_network(wanted, strict=False)
            except ValueError:
                return False
        if kind == "boolean":
            return isinstance(value, bool) and value == (wanted in (True, "true"))
        if kind in ("long", "double") and isinstance(wanted, str):
            wanted = float(wanted)
        if kind == "keyword" and not isinstance(wanted, str):
            wanted = str(wanted).lower()
        if isinstance(wanted, str) and any_case:
            return isinstance(value, str) and value.lower() == wanted.lower()
        return kind_of(value) == kind_of(wanted) and value == wanted

    def is_exists(self, body, document, prefix):
        return bool(self.values(body["field"], document, prefix))

    def is_ids(self, body, document, _):
        return document.get("_id") in body["values"]

    def is_range(self, body, document, prefix):
        ((name, given),) = body.items()
        bounds = {op: given[op] for op in ("gt", "gte", "lt", "lte") if op in given}
        if "from" in given:
            bounds["gte" if given.get("include_lower", True) else "gt"] = given["from"]
        if "to" in given:
            bounds["lte" if given.get("include_upper", True) else "lt"] = given["to"]
        return any(
            all(self.compares(name, value, op, bound, given) for op, bound in bounds.items())
            for value in self.values(name, document, prefix)
        )

    def compares(self, name, value, op, bound, given):
        if self.type_of(name) == "date":
            found = event_date(value)
            if found is None:
                return False
            return compare(found, op, date_bound(bound, op in ("gt", "lte"), given.get("time_zone"), self.now))
        if self.type_of(name) in ("long", "double") and isinstance(bound, str):
            bound = float(bound)
        return kind_of(value) == kind_of(bound) and compare(value, op, bound)

    # Patterns.

    def tokens(self, name, document, prefix):
        texts = [v for v in self.values(name, document, prefix) if isinstance(v, str)]
        return [word for text in texts for word in words(text)] if self.type_of(name) == "text" else texts

    def is_prefix(self, body, document, prefix):
        ((name, given),) = body.items()
        given = given if isinstance(given, dict) else {"value": given}
        low = str.lower if given.get("case_insensitive") else str
        return any(low(t).startswith(low(given["value"])) for t in self.tokens(name, document, prefix))

    def is_wildcard(self, body, document, prefix):
        ((name, given),) = body.items()
        given = given if isinstance(given, dict) else {"value": given}
        low = str.lower if given.get("case_insensitive") else str
        return any(fits(low(text), low(given["value"])) for text in self.tokens(name, document, prefix))

    def is_regexp(self, body, document, prefix):
        ((name, given),) = body.items()
        pattern = given["value"] if isinstance(given, dict) else given
        return any(Regexp(pattern).matches(text) for text in self.tokens(name, document, prefix))

    # Words.

    def texts(self, name, document, prefix):
        return [words(value) for value in self.values(name, document, prefix) if isinstance(value, str)]

    def is_match(self, body, document, prefix):
        ((name, given),) = body.items()
        given = given if isinstance(given, dict) else {"query": given}
        if self.type_of(name) not in ("text", None):
            return self.is_term({name: given["query"]}, document, prefix)
        wanted = set(words(given["query"]))
        has = [any(word in text for text in self.texts(name, document, prefix)) for word in wanted]
        least = len(wanted) if given.get("operator") == "and" else 1
        if "minimum_should_match" in given and given.get("operator") != "and":
            least = max(1, needed(given["minimum_should_match"], len(wanted)))
        return bool(wanted) and sum(has) >= least

    def is_match_phrase(self, body, document, prefix):
        ((name, given),) = body.items()
        wanted = words(given)
        return bool(wanted) and any(
            text[i : i + len(wanted)] == wanted for text in self.texts(name, document, prefix) for i in range(len(text))
        )

    def is_match_phrase_prefix(self, body, document, prefix):
        ((name, given),) = body.items()
        *wanted, last = words(given)
        return any(
            text[i : i + len(wanted)] == wanted and "".join(text[i + len(wanted) :][:1]).startswith(last)
            for text in self.texts(name, document, prefix)
            for i in range(len(text) - len(wanted))
        )

    def is_multi_match(self, body, document, prefix):
        wanted, names = set(words(body["query"])), body["fields"]
        if body.get("type") == "cross_fields":
            has = [any(self.is_match({n: word}, document, prefix) for n in names) for word in wanted]
            return all(has) if body.get("operator") == "and" else any(has)
        about = {"query": body["query"], "operator": body.get("operator", "or")}
        return any(self.is_match({name: about}, document, prefix) for name in names)

    def is_query_string(self, body, document, prefix):
        must, should, must_not = [], [], []
        for clause in body["query"].split():
            name, _, word = clause.lstrip("+-").rpartition(":")
            found = self.is_match({name or body["fields"][0]: word}, document, prefix)
            (must if clause[0] == "+" else must_not if clause[0] == "-" else should).append(found)
        return all(must) and not any(must_not) and (bool(must) or not should or any(should))


def flat(values):
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        else:
            yield value


def kind_of(value):
    return "boolean" if isinstance(value, bool) else "number" if is_number(value) else type(value).__name__


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def words(text):
    return re.findall(r"\w+", text.lower())


def compare(left, op, right):
    return {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[op]


def needed(share, n):
    """Return how many of n clauses `minimum_should_match` needs."""
    if "<" not in str(share):
        whole = int(n * int(share[:-1]) / 100) if str(share).endswith("%") else int(share)
        return max(n + whole if str(share).startswith("-") else whole, 0)
    rules = [rule.split("<") for rule in share.split()]
    above = [part for limit, part in rules if n > int(limit)]
    return needed(above[-1], n) if above else n


def fits(text, pattern):
    """Return whether a text fits a pattern with * and ?, character by character."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(fits(text[i:], pattern[1:]) for i in range(len(text) + 1))
    if pattern[0] == "\\" and len(pattern) > 1:
        return text[:1] == pattern[1] and fits(text[1:], pattern[2:])
    return bool(text) and pattern[0] in ("?", text[0]) and fits(text[1:], pattern[1:])


# Dates.


def event_date(value):
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return milliseconds(found if found.tzinfo else found.replace(tzinfo=UTC))


def milliseconds(time):
    return (time - EPOCH) // timedelta(milliseconds=1)


def date_bound(text, rounds_up, zone, now):
    """Return a bound in milliseconds."""
    base, sign, math = ("now", "||", text[3:]) if text.startswith("now") else text.partition("||")
    hours = int(zone[:3]) if zone else 0
    local = timezone(timedelta(hours=hours))
    time = now.astimezone(local) if base == "now" else parsed(base, local, rounds_up and not sign)
    for step in re.findall(r"/\w|[+-]\d*\w", math):
        if step[0] != "/":
            time = moved(time, step[-1], int((step[:-1] + "1") if len(step) == 2 else step[:-1]))
            continue
        units = ["y", "M", "d", "h", "m", "s"]
        unit = "d" if step[1] == "w" else step[1]
        kept = [time.year, time.month, time.day, time.hour, time.minute, time.second][: units.index(unit) + 1]
        time = datetime(*(kept + [1, 1, 1][len(kept) : 3]), tzinfo=local)
        if step[1] == "w":
            time -= timedelta(days=time.isoweekday() - 1)
        if rounds_up:
            time = moved(time, step[1], 1) - timedelta(milliseconds=1)
    return milliseconds(time)


def parsed(text, local, rounds_up):
    parts = [int(part) for part in re.split(r"[-T:.]", text.removesuffix("Z"))]
    kept = parts[:6] + ([parts[6] * 1000] if len(parts) > 6 else [])
    kept += [1, 1, 1][len(kept) : 3]
    if rounds_up:
        kept += [23, 59, 59, 999000][len(kept) - 3 :]
    return datetime(*kept, tzinfo=UTC if text.endswith("Z") else local)


def moved(time, unit, n):
    if unit in "yM":
        months = time.year * 12 + time.month - 1 + n * (12 if unit == "y" else 1)
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return time.replace(year=year, month=month + 1, day=min(last, time.day))
    names = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
    return time + timedelta(**{names[unit]: n})


# Regular expressions of Lucene, by the places that each part can end at.


class Regexp:
    """A parser and matcher in one: each method reads a part and returns a function from starts to ends."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.at = 0
        self.ends = self.union()
        assert self.at == len(pattern)

    def matches(self, text):
        return len(text) in self.ends(text, 0)

    def peek(self, signs):
        return self.at < len(self.pattern) and self.pattern[self.at] in signs

    def union(self):
        parts = [self.chain()]
        while self.peek("|"):
            self.at += 1
            parts.append(self.chain())
        return lambda text, start: {end for part in parts for end in part(text, start)}

    def chain(self):
        parts = []
        while self.at < len(self.pattern) and not self.peek("|)"):
            parts.append(self.repeated())

        def ends(text, start):
            found = {start}
            for part in parts:
                found = {end for at in found for end in part(text, at)}
            return found

        return ends

    def repeated(self):
        part = self.single()
        while self.peek("?*+{"):
            sign = self.pattern[self.at]
            self.at += 1
            low, high = {"?": (0, 1), "*": (0, 99), "+": (1, 99), "{": (0, 0)}[sign]
            if sign == "{":
                end = self.pattern.index("}", self.at)
                ends = self.pattern[self.at : end].split(",")
                low, high = int(ends[0]), int(ends[-1] or 99)
                self.at = end + 1
            part = times(part, low, high)
        return part

    def single(self):
        sign = self.pattern[self.at]
        self.at += 1
        if sign == "(":
            part = self.union()
            self.at += 1
            return part
        if sign == "[":
            end = self.pattern.index("]", self.at)
            inside, self.at = self.pattern[self.at : end], end + 1
            return one(lambda c: in_class(c, inside.lstrip("^")) != inside.startswith("^"))
        if sign == '"':
            end = self.pattern.index('"', self.at)
            quoted, self.at = self.pattern[self.at : end], end + 1
            return lambda text, start: {start + len(quoted)} if text.startswith(quoted, start) else set()
        if sign == "<":
            end = self.pattern.index(">", self.at)
            low, high = self.pattern[self.at : end].split("-")
            self.at = end + 1
            return lambda text, start: {
                stop
                for stop in range(start + 1, len(text) + 1)
                if text[start:stop].isdecimal()
                and int(low) <= int(text[start:stop]) <= int(high)
                and (len(low) != len(high) or stop - start == len(low))
            }
        if sign == "@":
            return lambda text, start: set(range(start, len(text) + 1))
        if sign == "#":
            return lambda *_: set()
        if sign == ".":
            return one(lambda _: True)
        if sign == "\\":
            sign = self.pattern[self.at]
            self.at += 1
        return one(lambda c: c == sign)


def one(test):
    return lambda text, start: {start + 1} if start < len(text) and test(text[start]) else set()


def in_class(character, inside):
    ranges = re.findall(r"(.)-(.)", inside)
    return character in re.sub(r".-.", "", inside) or any(low <= character <= high for low, high in ranges)


def times(part, low, high):
    def ends(text, start):
        reached, found = {start}, {start} if low == 0 else set()
        for n in range(1, min(high, low + len(text) + 1) + 1):
            reached = {end for at in reached for end in part(text, at)}
            if n >= low:
                found |= reached
        return found

    return ends
