"""The card of a release: what it holds and by which rules, and what `datasets.load_dataset` reads of it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from swequarry import __version__
from swequarry.config import ReleaseSettings
from swequarry.export.card import markdown_template
from swequarry.export.releases.manifest import SPLIT_RULE
from swequarry.export.releases.model import Release
from swequarry.records import Task

_DEFAULT_CONFIG = "lists"


def release_card(release: Release, manifest: Mapping[str, Any], folder: Path) -> str:
    """Return the text of the card of a folder whose splits are written; `manifest` is the release's."""
    tasks = [release.as_it_goes_out(one) for one in release.tasks]
    counts, configs = manifest["counts"], _configs(folder, manifest["splits"])
    return markdown_template(Path(__file__).parent / "card.md.j2").render(
        front_matter=_front_matter(release, configs),
        configs=[config["config_name"] for config in configs],
        name=release.name,
        version=release.version,
        tool=__version__,
        tasks=tasks,
        splits=[(name, _split(told)) for name, told in manifest["splits"].items()],
        split_rule=SPLIT_RULE,
        divided=how_divided(release.settings),
        settings=release.settings,
        longest=max((task.budget.test_time_s or 0 for task in tasks), default=0),
        untimed=counts["without_measured_budget"],
        places=list(counts["answer_in_base_by_kind"].items()),
        left_out=list(counts["left_out_by_reason"].items()),
        funnel=release.funnel,
        licences=_licences(tasks),
    )


def how_divided(settings: ReleaseSettings) -> str:
    """Return in a sentence which tasks test."""
    rules = [
        *(f"all tasks of repositories like `{pattern}`" for pattern in settings.test_repositories),
        *(
            [f"those of about {settings.test_share:.0%} of all repositories, by the hash of their names"]
            if settings.test_share is not None
            else []
        ),
        *([f"what was merged on or after {settings.test_since.isoformat()}"] if settings.test_since else []),
    ]
    return f"In `test` are {', and '.join(rules)}; the others train." if rules else "All tasks test."


def _split(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tasks": told["tasks"],
        "rows": told["rows"],
        "first": told["first_merged_at"],
        "last": told["last_merged_at"],
        "repositories": len(told["repositories"]),
    }


def _configs(folder: Path, splits: Iterable[str]) -> list[dict[str, Any]]:
    """Return the configs of the parquet files that all splits have, the default first."""
    files: dict[str, list[dict[str, str]]] = {}
    for split in splits:
        for path in sorted((folder / split / "data").glob("*.parquet")):
            place = {"split": split, "path": path.relative_to(folder).as_posix()}
            files.setdefault(path.stem, []).append(place)
    names = sorted(files, key=lambda name: (name != _DEFAULT_CONFIG, name))
    return [
        {"config_name": name, **({"default": True} if name == names[0] else {}), "data_files": files[name]}
        for name in names
    ]


def _front_matter(release: Release, configs: list[dict[str, Any]]) -> str:
    if not configs:
        return ""
    data = {
        "pretty_name": f"{release.name} {release.version}",
        "license": "other",
        "license_name": "per-row",
        "language": ["en"],
        "tags": ["swe-bench", "code", "software-engineering"],
        "configs": configs,
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)


def _licences(tasks: Iterable[Task]) -> list[tuple[str, int]]:
    named = (task.candidate.licence.spdx if task.candidate.licence else None for task in tasks)
    counted = Counter(name or "unknown" for name in named)
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
