"""The page is one file that loads nothing, and foreign text in it stays text."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_factory import STAGES, make_report
from task_factory import Blobs, make_task, with_measurements

from swequarry.errors import StorageError
from swequarry.outcome import RejectCode
from swequarry.report.html import duration_text, percent_text, report_chunks, write_report
from swequarry.report.model import RejectEntry, ReportData, RunInfo, TaskEntry
from swequarry.report.payload import script_json, task_page, title_of
from swequarry.report.prose import statement_html
from swequarry.report.visible import cut, visible, visible_bytes, visible_prose

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> <!-- ' \" & "
    "\x1b[31mred\x1b[0m \u202egnp.exe\u2066 \u200b \u2028 \x00 \x85 \ud800 ]]> {{ 7*7 }} {% raw %}"
)


def page_of(data, blobs):
    return "".join(report_chunks(data, blobs.get_blob))


def hostile_report():
    blobs = Blobs()
    task = make_task(
        blobs,
        statement=HOSTILE + "\n\n![x](https://evil.example/p.png) [y](javascript:alert(3)) <b>bold</b>",
        gold=HOSTILE.encode("utf-8", "replace"),
        fail_to_pass=(HOSTILE,),
        quarantined=((HOSTILE, HOSTILE),),
    )
    task = with_measurements(task, blobs, text=HOSTILE)
    reject = RejectEntry(
        item=HOSTILE, repo=HOSTILE, stage=HOSTILE, code=RejectCode.LEAK, message=HOSTILE, evidence=(HOSTILE,)
    )
    run = RunInfo(
        title=HOSTILE, version="0", command=HOSTILE, dataset_path=HOSTILE, settings={HOSTILE: HOSTILE}
    )
    return ReportData(run=run, stages=STAGES, tasks=(TaskEntry(task=task),), rejects=(reject,)), blobs


class Page(HTMLParser):
    """Tags with their attributes, and the text of each script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)


def test_hostile_text_never_becomes_a_tag_or_a_script():
    data, blobs = hostile_report()
    page = Page(page_of(data, blobs))
    runnable = [text for attrs, text in page.scripts if attrs.get("type") != "application/json"]
    assert len(runnable) == 1
    assert "alert(1)" not in runnable[0]
    assert not [
        tag for tag, attrs in page.tags if tag == "img" or any(name.startswith("on") for name in attrs)
    ]


def test_hostile_text_comes_out_of_the_json_as_visible_text():
    data, blobs = hostile_report()
    page = Page(page_of(data, blobs))
    lists = next(json.loads(text) for attrs, text in page.scripts if attrs.get("id") == "lists")
    assert lists["lost"]["rows"][0][0] == visible(HOSTILE)
    assert "</script><script>alert(1)</script>" in lists["lost"]["rows"][0][5]


def test_no_invisible_character_reaches_the_page():
    data, blobs = hostile_report()
    text = page_of(data, blobs)
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text
    )
    for attrs, body in Page(text).scripts:
        if attrs.get("type") == "application/json":
            assert "\\u202e" not in body
            assert "\\u001b" not in body


def test_page_loads_nothing_and_its_policy_names_its_only_script():
    data, blobs = make_report(tasks=3)
    text = page_of(data, blobs)
    page = Page(text)
    policy = next(attrs["content"] for tag, attrs in page.tags if tag == "meta" and attrs.get("http-equiv"))
    script = next(body for attrs, body in page.scripts if attrs.get("type") != "application/json")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'")
    assert not [attrs for _, attrs in page.tags if "src" in attrs]
    assert [attrs["href"] for tag, attrs in page.tags if tag == "link"] == ["data:,"]
    assert "@import" not in text
    assert "url(" not in text


def test_statement_keeps_markdown_and_loses_what_loads_or_runs():
    html = statement_html(
        "# T\n\n<script>x</script> **b** `c` ![alt](https://e.example/p.png)\n\n[a](javascript:x) [b](https://ok.example/) [c](#/rejects)\n\n| a |\n|---|\n| 1 |\n"
    )
    assert html is not None
    assert "<strong>b</strong>" in html
    assert "<table>" in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html
    assert "[alt: https://e.example/p.png]" in html
    assert re.findall(r'href="([^"]*)"', html) == ["https://ok.example/"]


@given(st.text())
def test_statement_html_has_no_tag_of_the_statement_for_any_text(text):
    html = statement_html(text)
    assert html is not None
    allowed = {
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "em",
        "strong",
        "a",
        "blockquote",
        "hr",
        "br",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "s",
        "span",
    }
    assert {tag for tag, _ in Page(html).tags} <= allowed


@given(st.text())
def test_script_json_can_stand_in_a_script_tag_for_any_text(text):
    written = script_json([text])
    assert not set(written) & set("<>&")
    assert written.isascii()
    assert json.loads(written) == [text]


def test_same_data_gives_the_same_page():
    data, blobs = make_report(tasks=4)
    assert page_of(data, blobs) == page_of(data, blobs)


def test_missing_blob_is_said_and_does_not_stop_the_report(tmp_path):
    data, _ = make_report(tasks=2)

    def gone(key):
        raise StorageError(f"blob {key} is gone")

    path = write_report(data, gone, tmp_path / "deep" / "report.html")
    assert "is gone" in path.read_text()


def test_error_while_writing_leaves_the_earlier_report(tmp_path):
    data, blobs = make_report(tasks=2)
    path = write_report(data, blobs.get_blob, tmp_path / "report.html")
    before = path.read_bytes()

    def broken(key):
        raise RuntimeError(key)

    with pytest.raises(RuntimeError):
        write_report(replace(data, run=RunInfo(title="new", version="0")), broken, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_unwritable_place_is_a_storage_error(tmp_path):
    data, blobs = make_report(tasks=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="can't write the report"):
        write_report(data, blobs.get_blob, tmp_path / "file" / "report.html")


def test_items_that_do_not_add_up_are_said_at_the_top():
    data, blobs = make_report(tasks=2)
    assert "add up" not in page_of(data, blobs)
    short = replace(data, run=replace(data.run, expected=data.run.expected + 3))
    assert "3 items don&#39;t add up" in page_of(short, blobs) or "3 items don't add up" in page_of(
        short, blobs
    )


def test_run_without_candidates_gives_a_page():
    text = page_of(ReportData(run=RunInfo(title="empty", version="0"), stages=STAGES), Blobs())
    assert "No candidates" in text


def test_what_is_cut_is_counted():
    blobs = Blobs()
    task = make_task(blobs, gold=b"+x\n" * 200_000, pass_to_pass=tuple(f"t.py::t{n}" for n in range(5_000)))
    page = task_page(TaskEntry(task=task), blobs.get_blob)
    assert len(page["gold"]["text"]) + page["gold"]["gone"] == 600_000
    assert page["gold"]["text"].endswith("\n")
    assert page["tests"]["p2pCount"] == 5_000
    assert len(page["tests"]["p2p"]) < 5_000


def test_title_is_the_first_line_that_says_something():
    task = make_task(Blobs(), statement="\r\n\n## Crash \u202eon start\r\nmore")
    assert title_of(task.instruction) == "Crash <U+202E>on start"
    assert title_of(replace(task.instruction, text=" \n")) == "(no text)"
    assert len(title_of(replace(task.instruction, text="x" * 999))) == 140


def test_invisible_characters_show():
    assert visible("a\tb\n\x1b[0m\r\x00\x7f\x9b\u202e\ufeff\ud800é☕") == (
        "a\tb\n^[[0m^M^@^?<U+009B><U+202E><U+FEFF><U+D800>é☕"
    )
    assert visible_bytes(b"caf\xe9\r\n") == "caf\\xe9^M\n"
    assert visible_prose("a\r\nb\rc") == "a\nb\nc"


@given(st.text(), st.integers(1, 50))
def test_cut_loses_nothing_uncounted(text, limit):
    shown, gone = cut(text, limit)
    assert text.startswith(shown)
    assert len(shown) + gone == len(text)
    assert len(shown) <= limit


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.34, "340 ms"), (2.44, "2.4 s"), (200, "3 min 20 s"), (3900, "1 h 05 min"), (0, "0 ms")],
)
def test_durations_read_as_people_say_them(seconds, text):
    assert duration_text(seconds) == text


def test_share_of_nothing_is_zero():
    assert percent_text(0, 0) == "0\u202f%"
    assert percent_text(1, 8) == "12.5\u202f%"


def test_weakest_tests_are_named_first_and_unstable_ones_by_what_they_depend_on():
    blobs = Blobs()
    strong, weak, unknown = (
        make_task(blobs, number=n, quarantined=(("t.py::test_b", "time"),)) for n in (1, 2, 3)
    )
    tasks = (
        unknown,
        with_measurements(strong, blobs, survivors=0),
        with_measurements(weak, blobs, survivors=3),
    )
    data = ReportData(
        run=RunInfo(title="r", version="0"),
        stages=STAGES,
        tasks=tuple(TaskEntry(task=task) for task in tasks),
    )
    text = page_of(data, blobs)
    overview = text.partition('id="page-overview"')[2].partition("</section>")[0]
    weakest = overview.partition("Weakest tests")[2].partition("Unstable tests")[0]
    assert weakest.index("acme__widgets-2") < weakest.index("acme__widgets-1")
    assert "acme__widgets-3" not in weakest
    assert "2 of 5 wrong fixes rejected (40%)" in weakest
    assert "<code>time</code><b>3</b>" in overview
    page = task_page(data.tasks[2], blobs.get_blob)
    assert page["strength"] == 0.4
    assert [row[:3] for row in page["wrongFixes"]["survivors"]] == [
        ["mutant constant", f"src/tests/test_a.py::test_bomb.py:{line}", "survived"] for line in (5, 6, 7)
    ]
    assert page["stability"]["unstable"][0][1:5] == ["after", "time", 2, 4]
