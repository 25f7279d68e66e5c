"""The report in a real browser: no error, no overflow, both colour schemes, every page, ten thousand rejects."""

import shutil
import time
from dataclasses import replace

import pytest
from report_factory import make_report
from task_factory import make_task

from swequarry.records import StatementKind
from swequarry.report.html import write_report
from swequarry.report.model import RejectEntry, TaskEntry

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium on PATH; install chromium to test the report in a browser"
    ),
]
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed (dev dependency)")

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HOSTILE = (
    "</script><script>window.owned=1</script><img src=x onerror=window.owned=2> \x1b[31m \u202e " + "W" * 300
)
LONG = "a" * 400


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    data, blobs = make_report()
    hostile = make_task(
        blobs,
        number=1,
        statement=f"{HOSTILE}\n\n<b>x</b> ![p](https://e.example/p.png)\n\n```\n{LONG}\n```\n",
        kind=StatementKind.ISSUE,
        gold=f"diff --git a/{LONG}.py b/{LONG}.py\n--- a/{LONG}.py\n+++ b/{LONG}.py\n@@ -1 +1 @@\n--- {LONG}\n+++ {HOSTILE}\n".encode(
            "utf-8", "replace"
        ),
        fail_to_pass=(f"tests/{LONG}.py::test_{LONG}",),
        quarantined=((f"t.py::{LONG}", LONG),),
    )
    reject = replace(data.rejects[0], item=f"acme__{LONG}", message=HOSTILE, evidence=(HOSTILE, LONG))
    data = replace(data, tasks=(*data.tasks, TaskEntry(task=hostile)), rejects=(*data.rejects, reject))
    return data, write_report(data, blobs.get_blob, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser):
    """Open a file in a fresh context; fails the test on any console message, error or request."""
    trouble, contexts = [], []

    def open_page(path, hash_="#/", width=1440, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: trouble.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:")) or trouble.append(f"request: {request.url}")
            ),
        )
        page.goto(path.as_uri() + hash_)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def until(page, expression):
    """Wait until an expression holds; playwright's own way needs eval, which the page's policy forbids."""
    deadline = time.monotonic() + 20
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        time.sleep(0.02)


def overflowing(page):
    """Elements that stick out of the page sideways and aren't inside a box that scrolls."""
    return page.evaluate(
        """() => {
          const scrolls = (node) => { for (let at = node.parentElement; at; at = at.parentElement)
            if (/(auto|scroll|hidden)/.test(getComputedStyle(at).overflowX)) return true; return false; };
          const wide = [...document.querySelectorAll("body *")].filter((node) => node.getClientRects().length
            && node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node) && !node.matches(".skip"));
          if (document.documentElement.scrollWidth > innerWidth) wide.push(document.documentElement);
          return wide.map((node) => node.tagName + "." + node.className);
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_no_page_overflows_and_none_is_in_the_wrong_colours(report, opened, width, scheme):
    data, path = report
    page = opened(path, width=width, scheme=scheme)
    for hash_ in (
        "#/",
        "#/tasks",
        f"#/task/{data.tasks[0].task.instance_id}",
        "#/task/acme__widgets-1",
        "#/rejects",
        "#/run",
    ):
        page.goto(path.as_uri() + hash_)
        until(page, "document.querySelector('.page:not([hidden]) h1')")
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert overflowing(page) == [], hash_
    lightness = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)"
    )
    assert (lightness > 600) if scheme == "light" else (lightness < 150)


def test_overview_says_how_many_and_leads_to_the_rejects_of_a_reason(report, opened):
    data, path = report
    page = opened(path)
    assert page.inner_text("#overview-title .big") == str(len(data.tasks))
    page.click("text=build_failed >> nth=0")
    page.wait_for_selector("#page-rejects:not([hidden])")
    wanted = sum(reject.code.value == "build_failed" for reject in data.rejects)
    assert page.inner_text("#reject-list .found").startswith(f"{wanted} of ")
    assert page.locator("#reject-list .list > li").count() == wanted


def test_task_opens_from_the_list_with_statement_patches_and_tests(report, opened):
    _, path = report
    page = opened(path, "#/tasks")
    page.click("#task-list .card >> nth=3")
    page.wait_for_selector("#page-task:not([hidden])")
    assert page.locator("#page-task h2").all_inner_texts() == [
        "Problem statement",
        "Gold patch",
        "Test patch",
        "Hidden tests",
        "Strength",
        "Stability",
        "Review",
        "Environment",
        "Proof",
    ]
    assert page.locator("#gold .l.a").count() > 3
    assert page.locator(".f2p .group li").count() >= 1
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.click("text=Raw")
    assert page.is_visible("#statement pre.wrap")
    page.go_back()
    page.wait_for_selector("#page-tasks:not([hidden])")


def test_search_filters_and_is_kept_in_the_address(report, opened):
    data, path = report
    page = opened(path, "#/tasks")
    wanted = data.tasks[5].task.instance_id
    page.keyboard.press("/")
    page.keyboard.type(wanted)
    until(page, "document.querySelectorAll('#task-list .list > li').length === 1")
    assert wanted in page.inner_text("#task-list .list")
    assert f"q={wanted}" in page.url
    page.reload()
    until(page, "document.querySelectorAll('#task-list .list > li').length === 1")
    page.click("text=Clear")
    until(page, f"document.querySelectorAll('#task-list .list > li').length === {len(data.tasks)}")
    page.fill("#task-list input", "no such thing anywhere")
    until(page, "document.querySelector('#task-list .found').textContent.startsWith('0 of')")


def test_hostile_statement_patch_and_log_stay_text(report, opened):
    _, path = report
    page = opened(path, "#/task/acme__widgets-1")
    page.wait_for_selector("#statement .prose")
    assert "<script>window.owned=1</script>" in page.inner_text("#page-task h1")
    assert "^[[31m <U+202E>" in page.inner_text("#statement .prose")
    assert page.locator("#page-task img, #page-task script, #page-task b").count() == 0
    page.goto(path.as_uri() + "#/rejects?q=acme__")
    page.click("#reject-list summary")
    assert "window.owned" in page.inner_text("#reject-list .detail pre")
    assert page.evaluate("window.owned") is None


def test_removed_line_that_looks_like_a_header_is_a_line_of_its_file(report, opened):
    _, path = report
    page = opened(path, "#/task/acme__widgets-1")
    page.wait_for_selector("#gold .file")
    assert page.locator("#gold .file").count() == 1
    assert (page.locator("#gold .l.d").count(), page.locator("#gold .l.a").count()) == (1, 1)


def test_colour_scheme_can_be_chosen_and_is_remembered(report, opened):
    _, path = report
    page = opened(path, scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert light != dark
    assert page.get_attribute("#theme", "aria-label") == "Colour scheme: light"
    page.reload()
    assert page.evaluate(background) == light
    page.click("#theme")
    assert page.evaluate(background) == dark


def test_unknown_task_and_broken_address_give_a_page_that_says_so(report, opened):
    _, path = report
    page = opened(path, "#/task/nobody__nothing-1")
    page.wait_for_selector("text=No such task")
    page.goto(path.as_uri() + "#/task/%E0%A4%A")
    page.wait_for_selector("text=No such task")
    page.goto(path.as_uri() + "#/nowhere")
    page.wait_for_selector("#page-overview:not([hidden])")


def test_everything_that_acts_has_a_name_and_can_be_reached_by_keyboard(report, opened):
    data, path = report
    page = opened(path)
    for hash_ in ("#/", "#/tasks", "#/rejects", f"#/task/{data.tasks[0].task.instance_id}"):
        page.goto(path.as_uri() + hash_)
        until(page, "document.querySelector('.page:not([hidden]) h1')")
        nameless = page.evaluate(
            """[...document.querySelectorAll("a, button, input, select, summary, [role=img], [role=region]")]
            .filter((node) => node.getClientRects().length && !(node.getAttribute("aria-label") || node.textContent.trim())).map((node) => node.outerHTML.slice(0, 90))"""
        )
        assert nameless == []
        levels = page.evaluate("[...document.querySelectorAll('.page:not([hidden]) h1')].length")
        assert levels == 1
        unreachable = page.evaluate(
            """[...document.querySelectorAll(".page:not([hidden]) *")].filter((node) => node.scrollWidth > node.clientWidth + 1
            && /auto|scroll/.test(getComputedStyle(node).overflowX) && node.tabIndex < 0).map((node) => node.className)"""
        )
        assert unreachable == []


def luminance(rgb):
    parts = [
        (value / 255 / 12.92) if value / 255 <= 0.03928 else ((value / 255 + 0.055) / 1.055) ** 2.4
        for value in rgb
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(report, opened, scheme):
    data, path = report
    page = opened(path, scheme=scheme)
    pairs = set()
    for hash_ in ("#/", "#/tasks", "#/rejects", f"#/task/{data.tasks[0].task.instance_id}"):
        page.goto(path.as_uri() + hash_)
        until(page, "document.querySelector('.page:not([hidden]) h1')")
        found = page.evaluate(
            """() => { const out = [];
              for (const node of document.querySelectorAll("main *")) {
                if (!node.getClientRects().length || ![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
                let at = node, back = "rgba(0, 0, 0, 0)";
                while (at && /, 0\\)$/.test(back)) { back = getComputedStyle(at).backgroundColor; at = at.parentElement; }
                out.push([getComputedStyle(node).color, back, node.tagName + "." + node.className]);
              } return out; }"""
        )
        pairs |= {tuple(pair) for pair in found}
    weak = []
    for ink, back, where in pairs:
        values = [
            [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
            for colour in (ink, back)
        ]
        high, low = sorted(map(luminance, values), reverse=True)
        if (high + 0.05) / (low + 0.05) < 4.5:
            weak.append((where, ink, back))
    assert weak == []


def test_ten_thousand_rejects_stay_usable(opened, tmp_path):
    data, blobs = make_report(tasks=3, scale=85)
    assert len(data.rejects) > 10_000
    needle = RejectEntry(
        item="needle__in-haystack-1", repo="needle/in", stage="verify", code=data.rejects[0].code, message="m"
    )
    path = write_report(
        replace(data, rejects=(*data.rejects, needle)), blobs.get_blob, tmp_path / "report.html"
    )
    started = time.monotonic()
    page = opened(path, "#/rejects")
    page.wait_for_selector("#reject-list .list > li")
    assert time.monotonic() - started < 8
    assert page.locator("#reject-list .list > li").count() <= 1_000
    took = page.evaluate(
        """async () => { const input = document.querySelector("#reject-list input"); const started = performance.now();
          input.value = "needle"; input.dispatchEvent(new Event("input"));
          while (document.querySelectorAll("#reject-list .list > li").length !== 1) await new Promise((done) => setTimeout(done, 10));
          return performance.now() - started; }"""
    )
    assert took < 2_000
