"""Photograph the interactive report: the trade-off and the tree of four variables.

    python examples/screenshot_report.py docs/images/report.png
    python examples/screenshot_report.py docs/images/report_quantity.png diabetes

make the pictures of docs/report.md and docs/regression.md. Needs the program
``chromium`` and the Python package ``playwright``.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from sorct import sorct_path

WIDTH, HEIGHT = 1280, 1120


def write_diabetes(file):
    """Report of the path of a quantity, on a held-out quarter."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    path = sorct_path(X_train, y_train, loss="square", random_state=0)
    path.report(X_test, y_test, title="Progression of diabetes").write_html(file)


def write_cancer(file):
    """Report of breast cancer's path, on a held-out quarter."""
    data = load_breast_cancer(as_frame=True)
    names = data.target.map(dict(enumerate(data.target_names)))
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, names, test_size=0.25, random_state=0, stratify=names
    )
    path = sorct_path(X_train, y_train, random_state=0)
    path.report(X_test, y_test, title="Breast cancer").write_html(file)


def photograph(page_file, picture_file):
    """Open the page, ask for at most four variables, and save what is in view."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        page.locator("#most").fill("4")
        page.locator("#most").blur()
        page.evaluate("document.getElementById('tradeoff').scrollIntoView()")
        page.screenshot(path=picture_file)
        browser.close()


def main(picture_file, data="cancer"):
    """Write the report to a folder of its own and photograph it."""
    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder) / "report.html"
        {"cancer": write_cancer, "diabetes": write_diabetes}[data](page_file)
        photograph(page_file, picture_file)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["report.png"]))
