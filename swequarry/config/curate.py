"""What the Curator drops, and the policies that say so under a name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, model_validator

from swequarry.config.section import Section


def _read_policy(name: str) -> Mapping[str, Any]:
    """Return the values of a policy by its name, or of a file."""
    here = Path(__file__).resolve().parents[1]
    shipped = (here / "configs" / "policies", here.parent / "configs" / "policies")  # a wheel, a checkout
    known = sorted({path.stem for folder in shipped for path in folder.glob("*.yaml")})
    named = [folder / f"{name}.yaml" for folder in shipped if name in known]
    path = next((path for path in named if path.is_file()), Path(name))
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{name!r} is none of {', '.join(known)}, nor a YAML file: {error}") from error
    if not isinstance(data, dict) or "policy" in data:
        raise ValueError(f"{path} holds no settings of `curate`, or names a policy itself")
    return data


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    joint = dict(below)
    for name, value in above.items():
        both = isinstance(value, Mapping) and isinstance(joint.get(name), Mapping)
        joint[name] = _merged(joint[name], value) if both else value
    return joint


class DecontaminationSettings(Section):
    """The benchmarks that candidates are held against: files of rows, or of fingerprints (.npz).

    `repository` and `review` say what becomes of candidates of a benchmark's repository, and of those that a
    person should look at.
    """

    against: tuple[Path, ...] = ()
    repository: Literal["keep", "remove"] = "keep"
    review: Literal["keep", "remove"] = "keep"


class HealthSettings(Section):
    """What a repository must have at a candidate's base; what isn't known drops nothing.

    `pulls_a_year` counts the pull requests that were merged in the year up to the candidate's merge.
    """

    tests: bool = False
    ci: bool = False
    pulls_a_year: int = Field(default=0, ge=0)
    stars: int = Field(default=0, ge=0)


class CurateSettings(Section):
    """What the Curator drops. `statement_from_commits` allows candidates without an issue's text.

    `title_alone` allows statements of issues that have a title and no body.

    `policy` names a set of values that hold where nothing else is said: `strict`, `permissive`, or a file.
    `max_gold_lines` counts added and removed lines of source. `foreign_code` is vendored and generated code.
    `opt_out` is a file with one `owner/name` or `owner/*` a line.

    `licences` are the SPDX ids that a licence may have, `permissive` standing for those that ask for no more
    than notices; without any, every licence will do, and an unknown one too.
    """

    policy: str | None = None
    statement_from_commits: bool = True
    title_alone: bool = False
    max_gold_files: int = Field(default=100, ge=1)
    max_patch_bytes: int = Field(default=1_000_000, ge=1)
    max_gold_lines: int | None = Field(default=None, ge=1)
    min_statement_words: int = Field(default=0, ge=0)
    max_statement_words: int | None = Field(default=None, ge=1)
    latin_script_only: bool = False
    english_only: bool = False
    secrets: Literal["drop", "redact", "keep"] = "drop"
    personal_data: Literal["drop", "redact", "keep"] = "keep"
    bots: Literal["drop", "keep"] = "drop"
    dependency_updates: Literal["drop", "keep"] = "drop"
    foreign_code: Literal["drop", "keep"] = "keep"
    health: HealthSettings = HealthSettings()
    opt_out: Path | None = None
    licences: tuple[str, ...] = ()
    decontamination: DecontaminationSettings = DecontaminationSettings()

    @model_validator(mode="before")
    @classmethod
    def _on_top_of_the_policy(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("policy"), str):
            return data
        return _merged(_read_policy(data["policy"]), data)
