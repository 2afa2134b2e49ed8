"""A path to report on, and a browser that watches every page it opens.

A message of the console, an error, a dialog or a request other than the file itself
fails the test that opened the page.
"""

import shutil

import pytest

from tests.show.report.cases import drawn_labels, drawn_path, drawn_tree, mixed_table
from tests.show.report.reading import Case

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


@pytest.fixture
def table(rng):
    """Draw a table of all kinds of columns."""
    return mixed_table(rng)


@pytest.fixture
def path(rng, table):
    """Draw a path of six trees with three classes."""
    tree = drawn_tree(rng, table, ["low", "mid", "top"])
    return drawn_path(rng, tree, table)


@pytest.fixture
def labels(rng, path, table):
    """Draw labels that the first tree mostly predicts."""
    return drawn_labels(rng, path.trees[0], table)


@pytest.fixture(scope="package")
def case():
    """Draw a path on a table of all kinds of columns."""
    return Case()


@pytest.fixture(scope="package")
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


@pytest.fixture
def visit(browser, tmp_path):
    """Open reports from disk; afterwards nothing must have gone wrong or out."""
    contexts, wrong, requests = [], [], set()

    def open_report(report, width=1280, **options):
        file = tmp_path / f"report{len(contexts)}.html"
        report.write_html(file)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: requests.add(request.url))
        page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_report
    pages = {page.url.split("#")[0] for context in contexts for page in context.pages}
    for context in contexts:
        context.close()
    assert wrong == []
    assert {url for url in requests if not url.startswith("data:")} <= pages
