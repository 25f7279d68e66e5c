"""Settings: YAML in, validated and frozen models out; unknown keys are refused with a did-you-mean.

Secrets come from the environment only. The resolved settings are saved with each run. Settings that
change what comes out (`meaning_of`) are part of a stage's key; workers and paths never are.
"""

import difflib
from collections.abc import Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from swequarry.errors import ConfigError
from swequarry.records import ContentHash, canonical_json, sha256_hex


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GithubSettings(Section):
    """How GitHub's API is asked. Tokens come from the environment: `GITHUB_TOKEN`, `GITHUB_TOKENS`.

    `api` is `https://HOST/api/v3` for a GitHub Enterprise server, `ca_bundle` a PEM file that its certificate
    is checked with. `batch` is how many pull requests are asked for at once. `longest_wait_s` bounds one wait
    for a limit, `tries` how often a broken answer is asked for again. Facts that are older than
    `refresh_hours` are looked at again: None never does, so that the same command gives the same candidates.
    Repositories that are private, though the token may read them, are refused unless `private` says so.
    """

    api: str = Field(default="https://api.github.com", pattern=r"^https?://\S+$")
    ca_bundle: Path | None = None
    batch: int = Field(default=100, ge=1, le=100)
    timeout_s: int = Field(default=60, ge=1)
    longest_wait_s: int = Field(default=3700, ge=1)
    tries: int = Field(default=10, ge=1)
    refresh_hours: float | None = Field(default=None, ge=0)
    private: Literal["refuse", "take"] = "refuse"


class GharchiveSettings(Section):
    """Dumps of GitHub's public events: hourly `.json.gz` files, as gharchive.org publishes them.

    `dumps` are paths, patterns such as `dumps/2024-*.json.gz`, or addresses that fsspec can open; one with
    `{hour}` in it stands for every hour from `first_hour` to `last_hour` (`2024-03-01-0`, in UTC). What the
    dumps lack is asked of GitHub's API where `complete` says so, else it stays unknown.
    """

    dumps: tuple[str, ...] = ()
    first_hour: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}-\d{1,2}$")
    last_hour: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}-\d{1,2}$")
    complete: Literal["never", "api"] = "never"


class SourceSettings(Section):
    """Where candidates come from.

    `mirror` is a path template with `{owner}` and `{name}` (clones and bare mirrors alike); without it, or
    where nothing lies there, `url` is a template to clone from into the cache: without blobs where
    `partial_clones` is set, and no more than `clones_gb` of clones, those that weren't used for longest going
    first. `limit` counts candidates per repository, newest first.
    """

    kind: Literal["git", "github", "gharchive", "rows"] = "git"
    repositories: tuple[str, ...] = ()
    repositories_file: Path | None = None
    rows: Path | None = None
    issues: Path | None = None
    mirror: str | None = None
    url: str = "https://github.com/{owner}/{name}"
    partial_clones: bool = False
    clones_gb: float | None = Field(default=None, gt=0)
    since: str | None = None
    until: str | None = None
    limit: int | None = Field(default=None, ge=1)
    pulls: tuple[int, ...] = ()
    branch: str | None = None
    github: GithubSettings = GithubSettings()
    gharchive: GharchiveSettings = GharchiveSettings()


def _read_policy(name: str) -> Mapping[str, Any]:
    """Return the values of a policy by its name, or of a file."""
    here = Path(__file__).resolve().parent
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


class SandboxSettings(Section):
    """Where foreign code runs, and its limits.

    `runtime` names a runtime of the Docker engine, such as `runsc` (gVisor); by default the engine's own.
    """

    backend: Literal["bubblewrap", "docker"] = "bubblewrap"
    base_image: str = "python:{python}-slim"
    runtime: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    memory_mb: int = Field(default=4096, ge=64)
    processes: int = Field(default=512, ge=16)
    disk_mb: int = Field(default=2048, ge=16)
    build_timeout_s: int = Field(default=900, ge=1)

    @model_validator(mode="after")
    def _runtime_of_an_engine(self) -> Self:
        if self.runtime is not None and self.backend != "docker":
            raise ValueError("runtime is of the Docker engine; set sandbox.backend to docker too")
        return self


def _quoted(value: object) -> object:
    """Refuse a Python version that YAML has read as a number: 3.10 without quotes is 3.1."""
    if isinstance(value, float):
        raise ValueError(f"is the number {value}; write a Python version in quotes, for instance '3.9'")  # noqa: TRY004
    return value


def _from_the_index(text: str) -> str:
    """Refuse what isn't a requirement that the dated index can answer."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is no requirement such as `attrs>=19`: {error}") from error
    if requirement.url is not None:
        raise ValueError(f"{text!r} names an address; builds reach nothing but the dated package index")
    return text


def _a_full_name(pattern: str) -> str:
    if pattern.count("/") != 1 or not all(pattern.split("/")):
        raise ValueError(f"{pattern!r} is neither `owner/name` nor a pattern such as `owner/*`")
    return pattern


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Python = Annotated[str, BeforeValidator(_quoted), Field(pattern=r"^3\.\d+(\.\d+)?$")]
RequirementText = Annotated[str, AfterValidator(_from_the_index)]
RepositoryPattern = Annotated[str, AfterValidator(_a_full_name)]


class EnvironmentOverride(Section):
    """What a person knows better than the evidence about one repository: data, never a shell command.

    `python`, `extras`, `install`, `test_command` replace what was found. `groups` names dependency groups of
    the project whose requirements are added. `requirements`, `optional`, `constraints`, `build_constraints`
    and `build_requirements` are added, each in place of what was found for the same distribution; with
    `build_requirements` the project is built without isolation. `without` drops distributions. `exempt` gives
    a distribution a later cut-off. `test_command` is one of `test_framework` (pytest where that isn't said)
    and ends where test files are appended.
    """

    python: Python | None = None
    extras: tuple[Name, ...] | None = None
    groups: tuple[Name, ...] = ()
    requirements: tuple[RequirementText, ...] = ()
    optional: tuple[RequirementText, ...] = ()
    constraints: tuple[RequirementText, ...] = ()
    without: tuple[Name, ...] = ()
    build_constraints: tuple[RequirementText, ...] = ()
    build_requirements: tuple[RequirementText, ...] = ()
    install: Literal["editable", "legacy-editable", "path"] | None = None
    local_packages: tuple[str, ...] = ()
    variables: Mapping[VariableName, str] = {}
    exempt: Mapping[Name, Moment] = {}
    test_framework: Literal["pytest", "unittest", "django"] | None = None
    test_command: tuple[str, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _command_of_its_framework(self) -> Self:
        words = self.test_command or ()
        match self.test_framework:
            case _ if self.test_command is None:
                fits = self.test_framework is None
                example = "a `test_command` too"
            case "unittest":
                fits, example = words[-2:] == ("-m", "unittest"), "python -m unittest"
            case "django":
                fits, example = any(word.endswith(".py") for word in words), "python tests/runtests.py"
            case _:
                fits, example = bool({"pytest", "py.test"} & set(words)), "python -m pytest [options]"
        if not fits:
            raise ValueError(f"test_framework {self.test_framework or 'pytest'} needs {example}")
        return self


class EnvironmentSettings(Section):
    """How environments are resolved.

    `index_url` is a PEP 503/691 simple index, by default the one that pip would use here; `ca_bundle` a PEM
    file, by default the one that the environment names. `overrides` maps `owner/name`, or a pattern such as
    `owner/*`, to what is to be done otherwise there; the most specific entry counts, alone.
    """

    index_url: str | None = None
    ca_bundle: Path | None = None
    python: Python | None = None
    max_tries: int = Field(default=6, ge=1)
    overrides: Mapping[RepositoryPattern, EnvironmentOverride] = {}

    def override_for(self, full_name: str) -> tuple[str, EnvironmentOverride] | None:
        """Return the entry that counts for a repository: its own, else that of the longest pattern."""
        name = full_name.lower()
        fitting = [pattern for pattern in self.overrides if fnmatchcase(name, pattern.lower())]
        if not fitting:
            return None
        best = max(fitting, key=lambda pattern: (pattern.lower() == name, len(pattern), pattern))
        return best, self.overrides[best]


class VerifySettings(Section):
    """How tests are run. `runs` is the number of runs of before and of after each.

    `scope` says which test files are run: those of the pull request (`touched`), also those that import or
    run what it changes (`related`), or all (`full`). `scope_budget_s` bounds the run that looks for the files
    beside those of the pull request: what it doesn't come to isn't in the scope.
    """

    runs: int = Field(default=3, ge=1)
    scope: Literal["touched", "related", "full"] = "touched"
    scope_budget_s: int = Field(default=600, ge=1)
    timeout_s: int = Field(default=1800, ge=1)
    test_timeout_s: int = Field(default=300, ge=1)


class ChecksSettings(Section):
    """Canaries and held-out twins, which grading has beside the hidden tests.

    `budget_s` bounds the test time that a task may cost here, held against what its tests took when they were
    verified: where twins would cost more there are fewer or none, then no canaries either. What is left out
    is said with the task.
    """

    enabled: bool = True
    budget_s: int = Field(default=1800, ge=0)


def _word(value: object) -> object:
    """Take `off` for a word: YAML reads it as a truth value."""
    return "off" if value is False else value


class StabilitySettings(Section):
    """The search for unstable tests, which perturbs runs on purpose.

    `default` spends at most eight bare runs of the tests and stops when nothing flips; `deep` has no bound
    and also runs every perturbation by itself and each test alone; `off` leaves all to verification.
    """

    budget: Annotated[Literal["default", "deep", "off"], BeforeValidator(_word)] = "default"


class StrengthSettings(Section):
    """Wrong fixes tried on the hidden tests. `mutants` is how many small changes of gold are tried at most.

    `budget_s` bounds the time of a task: where it ends, the wrong fixes that weren't tried are counted.
    """

    enabled: bool = True
    mutants: int = Field(default=10, ge=5, le=20)
    budget_s: int = Field(default=150, ge=1)


class LlmSettings(Section):
    """The language model that writers may ask, at any server that speaks OpenAI's protocol.

    Without `model` (or `SWEQUARRY_MODEL`) none is asked. Key and address come from `OPENAI_API_KEY` and
    `OPENAI_BASE_URL` alone. `max_tokens` bounds one answer and `context_chars` what a question shows of a
    repository; `temperature` or `seed` null aren't sent. An answer that can't be used is asked to be repaired
    at most `repairs` times, and of the wrong fixes that want a test at most `survivors` are shown.
    `timeout_s` and `retries` are of one question. Budgets count what was paid for, not what the cache knew;
    those in US dollars need both prices.
    """

    model: str | None = Field(default=None, min_length=1)
    max_tokens: int = Field(default=1500, ge=1)
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    seed: int | None = 0
    context_chars: int = Field(default=12_000, ge=1000)
    repairs: int = Field(default=2, ge=0, le=10)
    survivors: int = Field(default=3, ge=0)
    timeout_s: int = Field(default=300, ge=1)
    retries: int = Field(default=2, ge=0, le=10)
    task_tokens: int = Field(default=60_000, ge=0)
    run_tokens: int | None = Field(default=None, ge=0)
    task_usd: float | None = Field(default=None, ge=0)
    run_usd: float | None = Field(default=None, ge=0)
    usd_per_million_input: float | None = Field(default=None, ge=0)
    usd_per_million_output: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _money_needs_prices(self) -> Self:
        bounded = self.task_usd is not None or self.run_usd is not None
        if bounded and None in (self.usd_per_million_input, self.usd_per_million_output):
            raise ValueError("task_usd and run_usd need usd_per_million_input and usd_per_million_output")
        return self


class InterfaceSettings(Section):
    """What becomes of names and messages that hidden tests use, base lacks and nobody wrote down.

    `add` writes them under the statement, `keep` notes them in the record alone, `drop` takes the tests that
    use them out of the lists, `reject` ends the candidate as underspecified (with `drop` too, where no test
    is left).
    """

    policy: Literal["add", "keep", "drop", "reject"] = "add"


class WritingSettings(Section):
    """Tests that are written beside those of the pull request, each proven by runs before it enters.

    With `tasks_without_tests` pull requests that bring no test become candidates where their issue shows
    code; they are `no_test_change` only if nothing proven comes of them. `budget_runs` bounds the runs of a
    task, `runs` is the number of them after the fix that a test must pass, `added` bounds the test files.
    """

    enabled: bool = True
    tasks_without_tests: bool = True
    budget_runs: int = Field(default=80, ge=0)
    runs: int = Field(default=4, ge=2, le=5)
    added: int = Field(default=3, ge=1)


class ReviewSettings(Section):
    """What becomes of a verified candidate whose task a finding of the review blocks.

    `keep`: it is a task, and the finding stands in it. `drop`: it is rejected as `review`.
    """

    blocked_tasks: Literal["keep", "drop"] = "keep"


class ExportSettings(Section):
    """What the dataset holds. `include_statement_from_commits` lets such tasks into the release."""

    include_statement_from_commits: bool = False
    name: str = "swequarry-dataset"


class ReleaseSettings(Section):
    """How `swequarry release` divides and times tasks.

    In the test split are the repositories of `test_repositories` (`owner/name`, or a pattern such as
    `owner/*`), about a share `test_share` of all repositories (by the hash of their names, so that none
    changes sides when others come in), and what was merged on or after `test_since`. Everything else trains;
    where none of the three is set, everything tests. A run of the tests may take `test_time_multiple` times
    the slowest one that was measured, a solver `solver_time_multiple` times that, and no less than before.
    """

    test_repositories: tuple[RepositoryPattern, ...] = ()
    test_share: float | None = Field(default=None, ge=0, le=1)
    test_since: Moment | None = None
    test_time_multiple: int = Field(default=5, ge=1)
    solver_time_multiple: int = Field(default=20, ge=1)


class PolicySettings(Section):
    """What a run spends where.

    After `stop_after_failures` candidates of a repository were rejected for one cause that is the
    repository's, and none between them got past it, the rest of the repository isn't tried. None: all are.
    """

    stop_after_failures: int | None = Field(default=None, ge=1)


class Settings(Section):
    """All settings of a run."""

    workspace: Path = Path("quarry")
    cache: Path | None = None
    workers: int = Field(default=2, ge=1)
    max_attempts: int = Field(default=3, ge=1)
    history: Literal["full", "none"] | int = "full"
    source: SourceSettings = SourceSettings()
    curate: CurateSettings = CurateSettings()
    sandbox: SandboxSettings = SandboxSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    verify: VerifySettings = VerifySettings()
    stability: StabilitySettings = StabilitySettings()
    checks: ChecksSettings = ChecksSettings()
    strength: StrengthSettings = StrengthSettings()
    llm: LlmSettings = LlmSettings()
    interface: InterfaceSettings = InterfaceSettings()
    testwriter: WritingSettings = WritingSettings()
    review: ReviewSettings = ReviewSettings()
    export: ExportSettings = ExportSettings()
    release: ReleaseSettings = ReleaseSettings()
    policy: PolicySettings = PolicySettings()


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    place: Any = model
    for part in path:
        if isinstance(place, type) and issubclass(place, BaseModel):
            place = place.model_fields[str(part)].annotation if str(part) in place.model_fields else None
        else:  # a mapping of any keys to one kind of section
            place = next(iter(get_args(place)[1:]), None)
    return list(place.model_fields) if isinstance(place, type) and issubclass(place, BaseModel) else []


_FRIENDLY = {"tuple_type": "must be a list, for instance [a, b]"}


def _explain(error: ValidationError, origin: str) -> str:
    lines = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"] if part != "[key]")
        if item["type"] == "extra_forbidden":
            known = _known_keys(Settings, item["loc"][:-1])
            near = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; known here: {', '.join(sorted(known))}"
            lines.append(f"{origin}: unknown setting `{where}`{hint}")
        else:
            said = _FRIENDLY.get(item["type"], item["msg"].removeprefix("Value error, "))
            lines.append(f"{origin}: setting `{where}`: {said}")
    return "\n".join(lines)


def parse_settings(data: object, origin: str = "settings") -> Settings:
    """Validate plain data as settings.

    Raises:
        ConfigError: an unknown key (with the nearest known one) or a value of the wrong type.
    """
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"{origin}: settings are a mapping of names to values, not {type(data).__name__}")
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_explain(error, origin)) from error


def load_settings(path: Path) -> Settings:
    """Read settings from a YAML file; relative paths in it are relative to the current folder.

    Raises:
        ConfigError: the file is missing, isn't YAML, or holds an unknown or impossible setting.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"can't read the settings file {path}: {error.strerror}; name an existing YAML file"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} isn't YAML: {error}") from error
    return parse_settings(data, str(path))


def meaning_of(*sections: Section | str | int) -> ContentHash:
    """Return the hash of the settings that a stage declares as part of its key."""
    data = [
        s.model_dump(mode="json", exclude_defaults=True) if isinstance(s, Section) else s for s in sections
    ]
    return ContentHash(sha256_hex(canonical_json(data)))
