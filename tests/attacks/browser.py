"""Browser: opens pages from disk and fails if one does anything but show itself."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.show.report.conftest import FLAGS

_READY = "html[data-ready]"


@contextmanager
def watched_browser():
    """A function that visits a page, or None where there is no browser."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield None
        return
    # A thread of its own: another test may have a browser open in this one, which
    # bears one at a time.
    with ThreadPoolExecutor(1) as thread:

        def here(call, *args, **kwargs):
            return thread.submit(call, *args, **kwargs).result()

        playwright = here(sync_playwright().start)
        chromium = here(playwright.chromium.launch, executable_path=program, args=FLAGS)
        try:
            yield lambda file: here(_visit, chromium, file)
        finally:
            here(chromium.close)
            here(playwright.stop)


def _visit(chromium, file):
    wrong, context = [], chromium.new_context()
    try:
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: wrong.append(f"request: {request.url}"))
        page.goto(file.as_uri())
        page.wait_for_selector(_READY, state="attached", timeout=20_000)
        for node in page.locator("#drawing .node").all()[:3]:
            node.dispatch_event("click")
    finally:
        context.close()
    own = f"request: {file.as_uri()}"
    odd = [one for one in wrong if one != own and not one.startswith("request: data:")]
    assert not odd, odd[0]
