"""A path to report on, and a browser that watches every page it opens.

A message of the console, an error, a dialog or a request other than the file itself
fails the test that opened the page.
"""

import os
import shutil

import numpy as np
import pytest

from tests.show.report.cases import drawn_labels, drawn_path, drawn_tree, mixed_table
from tests.show.report.reading import Case

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


@pytest.fixture(scope="session")
def drawn():
    """Draw a table of all kinds of columns, six trees of three classes, and labels."""
    rng = np.random.default_rng(int(os.environ.get("SORCT_TEST_SEED", "0")))
    table = mixed_table(rng)
    path = drawn_path(rng, drawn_tree(rng, table, ["low", "mid", "top"]), table)
    return table, path, drawn_labels(rng, path.trees[0], table)


@pytest.fixture
def table(drawn):
    """Copy the table, which a test may change."""
    return drawn[0].copy()


@pytest.fixture
def path(drawn):
    """Give the path, which nobody can change."""
    return drawn[1]


@pytest.fixture
def labels(drawn):
    """Copy the labels, which the first tree mostly predicts."""
    return drawn[2].copy()


@pytest.fixture(scope="session")
def case():
    """Draw a path on a table of all kinds of columns."""
    return Case()


@pytest.fixture(scope="session")
def browser():
    """Start one browser for all tests."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the Python package playwright is not installed"
    )
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("the program chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def window(browser):
    """Open one window for all reports that need no browser of their own kind."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    return context.new_page()


@pytest.fixture(scope="module")
def left():
    """Tell what tests of this module leave in the one window; no report at first."""
    return {"report": None}


class Watch:
    """What went wrong in pages, and what they asked for."""

    def __init__(self):
        self.wrong, self.requests = [], set()
        self.listeners = {
            "console": lambda message: self.wrong.append(message.text),
            "pageerror": lambda error: self.wrong.append(str(error)),
            "dialog": self.refuse,
            "request": lambda request: self.requests.add(request.url),
        }

    def refuse(self, dialog):
        """Note a dialog and close it."""
        self.wrong.append("dialog")
        dialog.dismiss()

    def begin(self, page):
        """Watch a page."""
        for name, listener in self.listeners.items():
            page.on(name, listener)

    def end(self, page):
        """Watch it no longer."""
        for name, listener in self.listeners.items():
            page.remove_listener(name, listener)


@pytest.fixture
def visit(browser, window, left, tmp_path):
    """Open reports from disk; afterwards nothing must have gone wrong or out.

    All are opened in the one window, unless they need another kind of browser.
    Opening is what takes time: tests that make all choices they rely on go on, with
    ``again``, in the page that another test of their module left.
    """
    files, contexts, watch = {window.url.split("#")[0]}, [], Watch()
    watch.begin(window)

    def go_on():
        window.mouse.move(0, 0)
        window.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        return window

    def open_report(report, width=1280, color_scheme=None, again=False, **options):
        if again and left["report"] is report:
            return go_on()
        file = tmp_path / f"report{len(files)}.html"
        report.write_html(file)
        files.add(file.as_uri())
        size = {"width": width, "height": 900}
        if options:
            contexts.append(browser.new_context(viewport=size, **options))
            page = contexts[-1].new_page()
            watch.begin(page)
        else:
            page = window
            left["report"] = report if (width, color_scheme) == (1280, None) else None
            page.set_viewport_size(size)
            page.mouse.move(0, 0)
        if color_scheme is not None:
            page.emulate_media(color_scheme=color_scheme)
        page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_report
    watch.end(window)
    for context in contexts:
        context.close()
    window.context.clear_permissions()
    window.emulate_media(media="null", color_scheme="null")
    assert watch.wrong == []
    assert {url for url in watch.requests if not url.startswith("data:")} <= files
