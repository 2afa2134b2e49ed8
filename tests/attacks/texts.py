"""Texts: hostile names, levels, labels and titles, fixed ones and random ones."""

from tests.show.export.exported_trees import NASTY, TAKEN
from tests.show.report.cases import HOSTILE

#: Beginnings that a spreadsheet takes for a formula, ends of strings and comments.
_FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "\r=1", "＝1",
]  # fmt: skip
_BREAKS = [
    "'", '"', "`", "\\", "''", '""', "\\'", '\\"', "*/", "--", ";", "]]>", "%", "?",
    ":x", ":'x'", "$1", "$$", "{", "}", "{}", "{0}", "${x}", "%s", "%(x)s", "\\.",
    "\\u0041", "\\N{DIGIT ONE}", "#", "//", "/*", "<!--", "-->", "&amp;", "&#60;",
    "</script>", "</title>", "</textarea>", "<svg/onload=alert(1)>",
    "javascript:alert(1)", "<img src=//x.invalid/a>",
    "<link rel=icon href=//x.invalid>",
]  # fmt: skip
_CONTROLS = [
    "\n", "\r", "\t", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x07", "\x08", "\x7f",
    "\x85", "\x9b31m", "\u2028", "\u2029", "\u202e", "\u200b", "\ufeff", "\u00ad",
]  # fmt: skip
_WORDS = [
    "", " ", "yes", "no", "1", "1.0", "nan", "inf", "null", "None", "True", "false",
    "constructor", "toString", "hasOwnProperty", "select", "order", "a.b", "a b", "É",
    "é", "ǆ", "İ", "ß", "SS", "ﬁ", "👩‍👩‍👧", "Z͑ͫ̓", "x" * 70, "é" * 64, "𐍈",
]  # fmt: skip
#: What no database and no graph can hold.
UNWRITABLE = ["\0", "a\0b", "\ud800", "x\udfffy"]
TEXTS = [*NASTY, *TAKEN, *HOSTILE, *_FORMULAS, *_BREAKS, *_CONTROLS, *_WORDS]
_RANGES = [
    (1, 128), (32, 127), (128, 0x250), (0x2000, 0x2070), (0x4E00, 0x4F00),
    (0x1F300, 0x1F700), (0xE000, 0xE100), (0xFFF0, 0xFFFE),
]  # fmt: skip


def random_text(rng, unwritable=0.0):
    """Draw a text: a known one, two of them, or random letters of some alphabet."""
    kind = rng.random()
    if kind < unwritable:
        return UNWRITABLE[rng.integers(len(UNWRITABLE))]
    if kind < 0.55:
        return TEXTS[rng.integers(len(TEXTS))]
    if kind < 0.75:
        one, two = rng.integers(len(TEXTS), size=2)
        return TEXTS[one] + TEXTS[two]
    low, high = _RANGES[rng.integers(len(_RANGES))]
    return "".join(map(chr, rng.integers(low, high, rng.integers(1, 12)).tolist()))


def distinct_texts(rng, n, unwritable=0.0):
    """Draw texts that differ."""
    found = {}
    while len(found) < n:
        found[random_text(rng, unwritable)] = None
    return list(found)
