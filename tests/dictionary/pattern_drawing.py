"""Random patterns, and texts that they match or nearly match. Seeded by the caller's generator."""

from __future__ import annotations

import random

QUANTIFIERS = ["*", "+", "?", "{0}", "{1}", "{2}", "{0,}", "{1,}", "{0,1}", "{1,2}", "{00}", "{,2}", "{1", "{٠}"]
FLAGS = ["(?i)", "(?-i)", "(?s)", "(?m)", "(?U)", "(?i-s)", "(?s-i)", "(?im)", "(?-)", "(?)"]
OPENINGS = ["(", "(", "(?:", "(?i:", "(?-i:", "(?s-i:", "(?P<n>", "(?<n>", "(?P<é>"]
# A piece of a pattern, and texts that it matches.
ATOMS = [
    ("a", "aA"),
    ("b", "bB"),
    ("ab", ["ab", "AB", "aB"]),
    ("xyz", ["xyz", "XYZ"]),
    ("K", "Kk\u212a"),
    ("k", "Kk\u212a"),
    ("\u212a", "Kk\u212a"),
    ("s", "Ssſ"),
    ("ſ", "Ssſ"),
    ("İ", ["İ", "i̇", "i", "I"]),
    ("ı", ["ı", "I", "i"]),
    ("ß", ["ß", "ẞ", "ss"]),
    ("Σ", "Σσς"),
    ("é", ["é", "É", "e\u0301"]),
    ("😀", ["😀"]),
    (".", ["a", "é", "\n", "😀"]),
    ("^", [""]),
    ("$", ["", "\n"]),
    (r"\A", [""]),
    (r"\z", [""]),
    (r"\b", ["", " "]),
    (r"\B", [""]),
    (r"\d", "07٠"),
    (r"\D", "a0"),
    (r"\w", "aé_"),
    (r"\W", " é"),
    (r"\s", " \n\v"),
    (r"\S", "a"),
    (r"\C", "a"),
    (r"\pN", "0٠Ⅷ"),
    (r"\p{Lu}", "AaÉ"),
    (r"\PN", "a"),
    (r"\p{^Greek}", "aσ"),
    (r"\101", ["A", "a"]),
    (r"\07", ["\a"]),
    (r"\x41", ["A", "a"]),
    (r"\x{212A}", ["\u212a", "k"]),
    (r"\xff", ["ÿ", "\x7f"]),
    (r"\x{D800}", ["\ufffd"]),
    (r"\Qa.b\E", ["a.b", "axb"]),
    (r"\Q{0}", ["{0}"]),
    (r"\Q\E", [""]),
    (r"\.", ["."]),
    (r"\\", ["\\"]),
    (r"\{", ["{"]),
    (r"\_", ["_"]),
    (r"\ ", [" "]),
    (r"\-", ["-"]),
    (r"\n", ["\n"]),
    (r"\v", ["\v"]),
    ("{", ["{"]),
    ("}", ["}"]),
    ("]", ["]"]),
    ("{a}", ["{a}"]),
    ("\0", ["\0"]),
    ("[ab]", "abA"),
    ("[^a]", "bA"),
    ("[]a]", "]a"),
    ("[^]a]", "b"),
    (r"[\]a]", "]a"),
    ("[[:alpha:]_]", "a_Z"),
    ("[[:^alpha:]]", "0a"),
    ("[[:a]", "[:a"),
    ("[[a]", "[a"),
    ("[a-k]", "akK\u212a"),
    ("[\\pN\\x{41}-\\x43]", "0AB"),
    ("[\\Q]", ["Q"]),
    ("[*+?{0}|()]", "*{(|"),
    ("(?i)[k-s]", "KSſ\u212a"),
    ("", [""]),
]
REAL = [
    (r"^C:\\Windows\\.*\.exe$", [r"C:\Windows\a.exe", "c:\\windows\\A.EXE"]),
    (
        r"(?i)(invoke-expression|\biex\b).{0,20}downloadstring",
        ["IEX x DownloadString", "invoke-expressiondownloadstring"],
    ),
    (r"\d{1,3}(\.\d{1,3}){3}", ["10.0.0.1", "1.2.3"]),
    (r"[a-z0-9._%+-]+@[a-z0-9.-]+\.(com|org|net)$", ["a@b.com", "A@B.COM", "x@y.org"]),
    (r"Mozilla/5\.0 \((Windows|X11)[^)]*\)", ["Mozilla/5.0 (X11; Linux)", "Mozilla/5.0 (Windows NT)"]),
    (r"(?:GET|POST) /(?P<path>[^ ?]+)(?:\?(?i:token=[a-f0-9]+))?", ["GET /a?TOKEN=ff", "POST /x"]),
    (r"(?i)\b(kiosk|sks|ask)\b", ["KIOSK", "\u212aio\u017f\u212a", "aſk"]),
    (r"(foo|bar|)(baz)+?", ["foobaz", "baz"]),
]


def regex_with_texts(drawn: random.Random) -> tuple[str, list[str]]:
    """Return an expression, which RE2 may refuse, and texts that it matches or nearly matches."""
    if drawn.random() < 0.2:
        regex, texts = drawn.choice(REAL)
    else:
        regex, text = _expression(drawn, 3)
        texts = [text]
    if drawn.random() < 0.4:
        regex = _mutated(drawn, regex)
    texts = [*texts, "", *(_edited(drawn, drawn.choice(texts)) for _ in range(4))]
    return regex, drawn.sample(texts, min(5, len(texts)))


def _expression(drawn: random.Random, depth: int) -> tuple[str, str]:
    parts, texts = [], []
    for _ in range(drawn.randint(1, 4)):
        roll = drawn.random()
        if roll < 0.12:
            parts.append(drawn.choice(FLAGS))
            texts.append("")
        elif roll < 0.35 and depth:
            inner, text = _expression(drawn, depth - 1)
            parts.append(drawn.choice(OPENINGS) + inner + ")")
            texts.append(text)
        elif roll < 0.45 and depth:
            (left, one), (right, other) = _expression(drawn, depth - 1), _expression(drawn, depth - 1)
            parts.append(f"{left}|{right}")
            texts.append(drawn.choice([one, other]))
        else:
            atom, matched = drawn.choice(ATOMS)
            parts.append(atom)
            texts.append(drawn.choice(list(matched)))
        if drawn.random() < 0.3:
            parts.append(drawn.choice(QUANTIFIERS) + drawn.choice(["", "", "?", "+", "{0}"]))
            texts[-1] *= drawn.choice([0, 1, 2])
    return "".join(parts), "".join(texts)


def _mutated(drawn: random.Random, regex: str) -> str:
    for _ in range(drawn.randint(1, 3)):
        at = drawn.randint(0, len(regex))
        new = drawn.choice([*QUANTIFIERS, *FLAGS, "|", "(", ")", "\\", "[", "]", "^", "-", drawn.choice(ATOMS)[0]])
        regex = regex[:at] + new + regex[at + drawn.choice([0, 0, 1]) :]
    return regex


_FORMS = ["kK\u212a", "sSſ", "iIİı", "σςΣ", "ßẞ"]


def _edited(drawn: random.Random, text: str) -> str:
    """Return a text near the given one: other cases, other forms of a letter, something more or less."""
    letters = list(text)
    for i, letter in enumerate(letters):
        roll = drawn.random()
        if roll < 0.15:
            letters[i] = letter.swapcase()
        elif roll < 0.25:
            letters[i] = drawn.choice(next((forms for forms in _FORMS if letter in forms), letter))
        elif roll < 0.3:
            letters[i] = ""
        elif roll < 0.35:
            letters[i] = letter + drawn.choice(["a", "{0}", "\n", " ", "é", "k"])
    return "".join(letters)


LIKE_TEXTS = [
    "a",
    "b",
    "ab",
    "A",
    "İ",
    "i̇",
    "ß",
    "ẞ",
    "Σ",
    "σ",
    "ς",
    "ΑΣ",
    "K",
    "\u212a",
    "ſ",
    "é",
    "😀",
    "\n",
    "\0",
    ".",
    "!",
]


def like_with_texts(drawn: random.Random) -> tuple[str, str, list[str]]:
    """Return a LIKE pattern, its escape character, and texts that are like it or nearly."""
    escape = drawn.choice(["\\", "\\", "!", "é", "^"])
    parts, texts = [], []
    for _ in range(drawn.randint(0, 8)):
        roll = drawn.random()
        if roll < 0.25:
            parts.append("%")
            texts.append("".join(drawn.choices(LIKE_TEXTS, k=drawn.choice([0, 0, 1, 2]))))
        elif roll < 0.45:
            parts.append("_" * drawn.choice([1, 1, 2]))
            texts.append("".join(drawn.choices(LIKE_TEXTS, k=len(parts[-1]))))
        elif roll < 0.6:
            special = drawn.choice(["%", "_", escape])
            parts.append(escape + special)
            texts.append(special)
        else:
            text = drawn.choice([*LIKE_TEXTS, "\\"])
            parts.append(text.replace(escape, escape * 2))
            texts.append(text)
    text = "".join(texts)
    return "".join(parts), escape, [text, text.swapcase(), *(_edited(drawn, text) for _ in range(3))]
