"""The report: writing it, and opening it in Chromium beside a Plotly page.

Both pages show the accuracy of breast cancer's full path over the penalties; Plotly's
has that heatmap alone. Each is one file with its scripts inside, opened from disk. The
time runs from the start of navigation until the page can be used. Needs Chromium and
the packages ``playwright`` and ``plotly`` (the extra ``bench``).
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path as FilePath
from typing import Any

from sklearn.datasets import load_breast_cancer

from benchmarks.timing import print_table
from sorct import Path, sorct_path

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
REPEATS = 5
# Notes when a page says that it is ready, in milliseconds since navigation began.
_WATCH = """
new MutationObserver(() => {
  if (document.documentElement?.dataset.ready) window.readyAt ??= performance.now();
}).observe(document, { attributes: true, subtree: true });
"""


def run() -> None:
    """Print seconds beside their bars."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    path = sorct_path(X, y, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        ours = FilePath(folder) / "report.html"
        seconds = _write(path, X, y, ours)
        size = ours.stat().st_size
        rows = [
            [f"write {len(path)} trees, {size / 1e6:.2f} MB", f"{seconds:.2f}", "5"]
        ]
        rows += _opening(path, X, y, ours)
    print_table("Report of breast cancer's full path", ["what", "seconds", "bar"], rows)


def _write(path: Path, X: Any, y: Any, file: FilePath) -> float:
    """Seconds of the best of three."""
    spent = []
    for _ in range(3):
        begun = time.perf_counter()
        path.report(X, y).write_html(file)
        spent.append(time.perf_counter() - begun)
    return min(spent)


def _opening(path: Path, X: Any, y: Any, ours: FilePath) -> list[list[str]]:
    """Rows on opening both pages, none where there is no browser."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        print("report: opening is not measured, it needs chromium and playwright.")
        return []
    theirs = _plotly_page(path, X, y, ours.with_name("plotly.html"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        times = {page: [] for page in (ours, theirs) if page is not None}
        for page in list(times) * REPEATS:
            times[page].append(_ready(browser, page))
        browser.close()
    rows = [["open until interactive", f"{min(times[ours]):.2f}", "1"]]
    if theirs is not None:
        rows.append(["Plotly page of its heatmap", f"{min(times[theirs]):.2f}", ""])
        ratio = min(times[ours]) / min(times[theirs])
        rows.append(["ours over Plotly's", f"{ratio:.2f}", "1"])
    return rows


def _plotly_page(path: Path, X: Any, y: Any, file: FilePath) -> FilePath | None:
    """The heatmap as a page of Plotly, which says when it is drawn."""
    try:
        from plotly import graph_objects
    except ImportError:
        print("report: there is no comparison, the package plotly is not installed.")
        return None
    shape = path.alphas_local.size, path.alphas_global.size
    accuracy = path.evaluate(X, y)["accuracy"].to_numpy().reshape(shape)
    figure = graph_objects.Figure(graph_objects.Heatmap(z=accuracy))
    figure.write_html(
        file,
        include_plotlyjs=True,
        post_script="document.documentElement.dataset.ready = 'yes';",
    )
    return file


def _ready(browser: Any, file: FilePath) -> float:
    """Seconds from the start of navigation until a page is ready, in a new context."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(file.as_uri())
    page.wait_for_function("() => window.readyAt !== undefined")
    seconds = page.evaluate("window.readyAt") / 1000
    context.close()
    return float(seconds)
