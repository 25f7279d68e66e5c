"""The dataset card: front matter that `datasets.load_dataset` reads, then what a reader wants to know.

Licences differ from row to row, so the card says `license: other` and counts them in a table.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import yaml

from swequarry.config import ExportSettings
from swequarry.export.columns import RowForm
from swequarry.export.interface import LeftOut, Surroundings
from swequarry.export.rows import Row

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


@cache
def markdown_template(path: Path) -> jinja2.Template:
    """Return a template of Markdown; text of others that goes into tables is to be passed through `cell`."""
    loader = jinja2.FileSystemLoader(path.parent)
    environment = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  # the card is Markdown; `cell` escapes what goes into tables
    )
    environment.filters["cell"] = table_cell
    return environment.get_template(path.name)


def table_cell(value: object) -> str:
    """Return text that stays inside one cell of a Markdown table and is never markup."""
    text = " ".join(str(value).split())
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#!~" else char for char in text)


def _front_matter(rows: Sequence[Row], settings: ExportSettings, forms: Sequence[RowForm], split: str) -> str:
    size = next((label for limit, label in _SIZES if len(rows) < limit), "100K<n<1M")
    data: dict[str, Any] = {
        "pretty_name": settings.name,
        "license": "other",
        "license_name": "per-row",
        "language": ["en"],
        "tags": ["swe-bench", "code", "software-engineering"],
        "size_categories": [size],
        "configs": [
            {
                "config_name": form.value,
                **({"default": True} if form is RowForm.LISTS else {}),
                "data_files": [{"split": split, "path": f"data/{form.value}.parquet"}],
            }
            for form in forms
        ],
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)


def _counts(values: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))


def make_card(
    rows: Sequence[Row],
    left_out: Sequence[LeftOut],
    settings: ExportSettings,
    surroundings: Surroundings,
    forms: Sequence[RowForm] = tuple(RowForm),
    *,
    json_lines: bool = True,
) -> str:
    """Return the text of the card."""
    return markdown_template(Path(__file__).parent / "card.md.j2").render(
        front_matter=_front_matter(rows, settings, forms, surroundings.split),
        forms=[form.value for form in forms],
        json_lines=json_lines,
        name=settings.name,
        rows=rows,
        split=surroundings.split,
        funnel=surroundings.funnel,
        left_out=_counts(item.reason.value for item in left_out),
        licences=_counts(row.license_spdx or "unknown" for row in rows),
        repositories=_counts(row.repo for row in rows),
        statements=_counts(row.statement_kind for row in rows),
        dropped=sum(len(row.dropped_tests) for row in rows),
        quarantined=sum(len(row.quarantined_tests) for row in rows),
        fail_to_pass=sum(len(row.fail_to_pass) for row in rows),
        pass_to_pass=sum(len(row.pass_to_pass) for row in rows),
        strengths=sorted(row.strength for row in rows if row.strength is not None),
    )
