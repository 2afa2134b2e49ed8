"""Render: the plain dict of a report into one HTML page.

Text from a user's table reaches the page in two ways only: escaped into the static part
here, and as JSON that the script writes into text nodes. Nothing is ever parsed as
HTML.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from string import Template
from typing import Any

# In the order in which they are joined to one script.
_SCRIPTS = ("model.js", "draw.js", "tree.js", "tradeoff.js", "whatif.js", "page.js")


def page(summary: dict[str, Any]) -> str:
    """The whole page as text."""
    chosen = summary["points"][summary["chosen"]]
    return Template(_part("page.html")).substitute(
        title=html.escape(summary["title"]),
        style=_part("style.css"),
        rules=html.escape(summary["trees"][chosen["tree"]]["rules"]),
        data=safe_json(summary),
        script="\n".join(_part(name) for name in _SCRIPTS),
    )


def safe_json(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element.

    Characters that HTML gives a meaning are written as JSON escapes.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _part(name: str) -> str:
    return (files("sorct.report") / "templates" / name).read_text(encoding="utf-8")
