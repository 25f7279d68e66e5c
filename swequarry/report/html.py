"""One self-contained report page: no network, no font, no script but its own.

A content security policy names that script by its hash, so nothing that slips into the page from an issue, a
patch or a log could run or load. Data travels as JSON in script tags that the browser doesn't execute; task
pages and long lists are built from it when they are opened.
"""

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from swequarry.errors import StorageError
from swequarry.records import Task
from swequarry.report.counts import ends, funnel, is_from_commits, reasons, stage_timings, yields
from swequarry.report.measured import (
    median_strength,
    quarantine_reasons,
    say_strength,
    strength_of,
    weakest_first,
)
from swequarry.report.model import ReportData
from swequarry.report.payload import GetBlob, lost_lines, script_json, task_line, task_page
from swequarry.report.visible import visible

_TEMPLATES = Path(__file__).parent / "templates"
_MINUTE_S, _HOUR_S = 60, 3600
_WEAKEST = 8
"""How many of the weakest tasks the overview names."""


def count_text(number: int) -> str:
    """Return a count with thin spaces between thousands."""
    return f"{number:,}".replace(",", "\u202f")


def duration_text(seconds: float) -> str:
    """Return a duration as a reader says it: `340 ms`, `2.4 s`, `3 min 20 s`, `1 h 05 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S:
        return f"{int(seconds // _MINUTE_S)} min {int(seconds % _MINUTE_S):02d} s"
    return f"{int(seconds // _HOUR_S)} h {int(seconds % _HOUR_S // _MINUTE_S):02d} min"


def percent_text(part: float, whole: float) -> str:
    """Return a share as a percentage with one decimal; `0 %` of nothing."""
    return f"{100 * part / whole:.1f}\u202f%" if whole else "0\u202f%"


def _width(part: float, whole: float) -> str:
    """Return a CSS percentage."""
    return f"{100 * part / whole:.3f}%" if whole else "0%"


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "count": count_text,
        "duration": duration_text,
    }
    environment.globals |= {"percent": percent_text, "width": _width}
    return environment


def _script_hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _settings_text(data: ReportData) -> str:
    return visible(json.dumps(data.run.settings, indent=2, sort_keys=True, ensure_ascii=False, default=str))


def _context(data: ReportData, get_blob: GetBlob) -> dict[str, Any]:
    script, totals = _read("report.js"), ends(data)
    run = data.run
    expected = run.expected
    return {
        "style": _read("report.css"),
        "script": script,
        "script_hash": _script_hash(script),
        "run": run,
        "took": (run.ended_at - run.started_at).total_seconds() if run.started_at and run.ended_at else None,
        "ends": totals,
        "missing": expected - totals.candidates if expected is not None else 0,
        "from_commits": sum(is_from_commits(entry) for entry in data.tasks),
        "reviewed": sum(entry.task.review is not None for entry in data.tasks),
        "blocked": sum(entry.task.review is not None and entry.task.review.blocked for entry in data.tasks),
        "not_rows": sum(entry.left_out is not None for entry in data.tasks),
        "funnel": funnel(data),
        "reasons": reasons(data),
        "yields": yields(data),
        "timings": stage_timings(data),
        "scorecards": data.scorecards,
        **_measured_context([entry.task for entry in data.tasks]),
        "titles": {stage.name: stage.title for stage in data.stages},
        "settings_text": _settings_text(data),
        "lists": script_json({"tasks": [task_line(e) for e in data.tasks], "lost": lost_lines(data)}),
        "pages": (script_json(task_page(entry, get_blob)) for entry in data.tasks),
    }


def _measured_context(tasks: Sequence[Task]) -> dict[str, Any]:
    """Return how far the hidden tests can be trusted: strengths, the weakest tasks, reasons of quarantine."""
    measured = [task for task in weakest_first(tasks) if strength_of(task) is not None]
    weakest = [
        {
            "id": visible(task.instance_id),
            "share": strength_of(task) or 0.0,
            "said": visible(say_strength(task.strength)),
            "survivors": len(task.strength.survivors) if task.strength is not None else 0,
        }
        for task in measured[:_WEAKEST]
    ]
    return {
        "measured": len(measured),
        "median_strength": median_strength(tasks),
        "weakest": weakest,
        "searched": sum(task.stability is not None for task in tasks),
        "quarantine": quarantine_reasons(tasks),
    }


def report_chunks(data: ReportData, get_blob: GetBlob) -> Iterator[str]:
    """Yield the page piece by piece: with thousands of tasks it is never in memory whole."""
    yield from _environment().get_template("report.html.j2").generate(_context(data, get_blob))


def write_report(data: ReportData, get_blob: GetBlob, destination: Path) -> Path:
    """Write the page to a file, whole or not at all, and return its path.

    A blob that is gone is said in the page.

    Raises:
        StorageError: the file can't be written; what was there stays.
    """
    work = destination.with_name(f".{destination.name}.{os.getpid()}.tmp")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with work.open("w", encoding="utf-8", newline="\n") as stream:
            for chunk in report_chunks(data, get_blob):
                stream.write(chunk)
            stream.flush()
            os.fsync(stream.fileno())
        work.replace(destination)
    except OSError as error:
        raise StorageError(f"can't write the report {destination}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            work.unlink(missing_ok=True)
    return destination
