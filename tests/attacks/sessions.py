"""Sessions: many scripts in one run of psql, each with its rows or its error."""

import csv
import io
import os
import subprocess

_MARK = "~~~ sorct {} ~~~"


def session(database, scripts):
    """For every script the rows that it gives, or the error as text."""
    lines = []
    for number, script in enumerate(scripts):
        mark = _MARK.format(number)
        lines += [f"\\echo '{mark}'", f"\\warn '{mark}'", script]
    options = ["--no-psqlrc", "--quiet", "--csv", "--pset=null=~~null~~"]
    options += ["-h", str(database.folder), "-U", "sorct", "-f", "-", "postgres"]
    done = subprocess.run(
        [database.psql, *options],
        input="\n".join(lines).encode(),
        capture_output=True,
        env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning"},
        timeout=300,
    )
    out, err = (_pieces(text, len(scripts)) for text in (done.stdout, done.stderr))
    return [wrong.strip() or _rows(text) for text, wrong in zip(out, err, strict=True)]


def _pieces(text, n):
    """The text behind every mark."""
    found, rest = [], text.decode()
    for number in range(n):
        rest = rest.partition(_MARK.format(number) + "\n")[2]
        found.append(rest.partition(_MARK.format(number + 1))[0])
    return found


def _rows(text):
    rows = csv.reader(io.StringIO(text, newline=""))
    return [[None if cell == "~~null~~" else cell for cell in row] for row in rows]
