"""Continuous integration: Python versions, install commands and system packages of the jobs that test.

GitHub Actions, Travis, Azure Pipelines, AppVeyor, CircleCI, GitLab, Cirrus, Drone, and the shell scripts in
their folders. One bounded walk serves them all: they differ in structure, but not in how they name things.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from reconstruct.environment.evidence.conda import index_requirement
from reconstruct.environment.evidence.model import Install, Origin, PythonHint, Requested
from reconstruct.environment.evidence.requirement_files import resolve
from reconstruct.environment.evidence.shell import MAX_LINE_CHARS, InstallCommand, install_commands
from reconstruct.environment.evidence.texts import Scalar, YamlReader, scalars
from reconstruct.environment.evidence.tree import Notebook, SourceTree, inside
from reconstruct.environment.evidence.versions import python_version

MAX_FILES: Final = 60
_YAML: Final = re.compile(
    r"\.github/workflows/[^/]+\.ya?ml|\.?travis\.yml|\.?appveyor\.yml|\.circleci/config\.yml|\.gitlab-ci\.yml"
    r"|\.cirrus\.yml|\.drone\.yml|\.?azure-pipelines[^/]*\.ya?ml|(?:\.?azure[\w-]*|\.?ci|tools|\.?ci/azure)/[^/]*azure[^/]*\.ya?ml"
    r"|(?:\.?azure[\w-]*|ci/azure)/[^/]+\.ya?ml",
    re.IGNORECASE,
)
_SCRIPT: Final = re.compile(
    r"(?:\.?ci|\.?travis|\.circleci|build_tools|continuous_integration|\.github)(?:/[\w.-]+){1,2}\.sh"
)
_WORD_ENDS: Final = re.compile(r"[\s;&|()\"']+")
_OTHER_PURPOSE: Final = re.compile(
    r"(?<![a-z])(?:lint\w*|docs?|documentation|sphinx|format\w*|mypy|typing|type-?check\w*|types|flake8|pylint|black|isort|ruff"
    r"|release|publish|pypi|pypy\S*|pre-?commit|style|deploy|wheels?|bench\w*|asv|upstream|nightly|min\w*|oldest|codeql"
    r"|windows-only|stale|labeler|rtd|fuzz\w*|devel?|dependabot)(?![a-z])",
    re.IGNORECASE,
)
_PYTHON_KEY: Final = re.compile(
    r"py|pythons?|python[-_.]?versions?|py[-_]?ver(?:sion)?s?|versionspec|python_ver|conda_py|pyversion",
    re.IGNORECASE,
)
_ENVIRONMENT_KEY: Final = re.compile(
    r"env|environment|tox_?-?env\w*|tox|toxenv|session|variables", re.IGNORECASE
)
_NAMED_ENVIRONMENT: Final = re.compile(
    r"(?<![\w.-])py(?:thon)?-?([23])\.?(\d{1,2})(?![\w.])(?!-?dev)", re.IGNORECASE
)
_ASSIGNED: Final = re.compile(r"\bPYTHON(?:_?VER(?:SION)?)?\s*[=:]\s*[\"']?([\w.\\:/-]+)", re.IGNORECASE)
_SKIPPED_KEYS: Final = frozenset(
    {"allow_failures", "exclude", "fast_finish", "on", "notifications", "deploy"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CiFacts:
    """What the CI of a project says; every list in the order of the files."""

    pythons: tuple[PythonHint, ...] = ()
    installs: tuple[Install, ...] = ()
    apt_packages: tuple[str, ...] = ()
    commands: str = ""


@dataclass(slots=True)
class _Found:
    pythons: dict[PythonHint, None] = field(default_factory=dict)
    installs: list[Install] = field(default_factory=list)
    apt: dict[str, None] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


def read_ci(tree: SourceTree, notes: Notebook) -> CiFacts:
    """Return what all CI files of the tree say."""
    reader = _Reader(tree, notes)
    for path in [path for path in tree.files if _YAML.fullmatch(path)][:MAX_FILES]:
        reader.yaml(path)
    for path in [path for path in tree.files if _SCRIPT.fullmatch(path)][:MAX_FILES]:
        reader.script(path)
    found = reader.found
    return CiFacts(
        pythons=tuple(found.pythons),
        installs=tuple(found.installs),
        apt_packages=tuple(found.apt),
        commands="\n".join(found.commands),
    )


class _Reader:
    def __init__(self, tree: SourceTree, notes: Notebook) -> None:
        self.found = _Found()
        self._tree = tree
        self._notes = notes
        self._yaml = YamlReader(tree, notes)
        self._lines: list[str] = []
        self._scripts: set[str] = set()

    def yaml(self, path: str) -> None:
        data = self._yaml.parse(path)
        if not isinstance(data, dict):
            return
        self._lines = (self._tree.read(path, self._notes) or "").split("\n")
        if _OTHER_PURPOSE.search(path.rsplit("/", 1)[-1].rsplit(".", 1)[0].replace("_", "-")):
            self._notes.note("ci_file_skipped", "named for another purpose", path)
            return
        for job, value in _jobs(data):
            for scalar in dict.fromkeys(Scalar(keys[-4:], text) for keys, text in scalars(value, leaves_out)):
                self._scalar(path, job, scalar.keys, scalar.text)

    def script(self, path: str) -> None:
        if path in self._scripts or len(self._scripts) >= MAX_FILES:
            return
        self._scripts.add(path)
        text = self._tree.read(path, self._notes)
        if text and not _OTHER_PURPOSE.search(path.rsplit("/", 1)[-1]):
            outer, self._lines = self._lines, text.split("\n")
            self._run(path, path, text)
            self._lines = outer

    def _scalar(self, path: str, job: str, keys: tuple[str, ...], text: str) -> None:
        named = [key for key in keys if key]
        if "apt" in named[-3:] and named[-1:] == ["packages"]:
            self._apt(path, (text,))
        last = named[-1] if named else ""
        if (
            _PYTHON_KEY.fullmatch(last)
            or last in {"image", "container"}
            or named[-2:] == ["python", "version"]
        ):
            for token in re.split(r"[\s,]+", text):
                self._python(path, python_version(token), token)
        elif any(_ENVIRONMENT_KEY.fullmatch(key) for key in named[-3:]):
            for match in _NAMED_ENVIRONMENT.finditer(text):
                self._python(path, python_version(f"py{match[1]}{match[2]}"), match[0])
            for match in _ASSIGNED.finditer(text):
                self._python(path, python_version(match[1]), match[0])
            if last.upper() == "PYTHON" or last.upper().startswith("PYTHON_VERSION"):
                self._python(path, python_version(text), text)
        if any(word in text for word in ("install", "test", "sync")):
            self._run(path, job, text)

    def _python(self, path: str, version: str | None, token: str) -> None:
        if version is not None:
            self._notes.note("ci_python", version, path, self._line_of(token))
            self.found.pythons[PythonHint(version=version, origin=Origin.CI)] = None

    def _line_of(self, text: str) -> int:
        if self._notes.is_full:
            return 0
        needle = text.strip().split("\n")[0]
        return next((n for n, line in enumerate(self._lines, start=1) if needle in line), 0)

    def _run(self, path: str, job: str, script: str) -> None:
        self.found.commands.append(script[:2_000])
        for command in install_commands(script):
            requested = self._requested(path, command)
            if command.tool == "apt":
                self._apt(path, command.names)
            elif requested:
                install = Install(path=path, job=job, requested=requested, conda=command.tool == "conda")
                if install not in self.found.installs:
                    self.found.installs.append(install)
                    values = requested.requirements + requested.extras + requested.local
                    self._notes.note("ci_install", f"{job}: {' '.join(values)}", path, self._line_of(script))
        for word in _WORD_ENDS.split(script[:MAX_LINE_CHARS]):
            called = inside("", word) if word.endswith(".sh") else None
            if called is not None and self._tree.has(called):
                self.script(called)

    def _requested(self, path: str, command: InstallCommand) -> Requested:
        if command.tool == "conda":
            names = (index_requirement(name) for name in command.names)
            return Requested(requirements=tuple(name for name in names if name))
        own = Requested(extras=command.extras, groups=command.groups)
        return own.joined(resolve(command.lines, "", self._tree, self._notes, origin=path))

    def _apt(self, path: str, names: tuple[str, ...]) -> None:
        for name in names:
            self.found.apt[name] = None
            self._notes.note("apt_package", name, path, self._line_of(name))


def _jobs(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The jobs of a GitHub workflow by name; any other file counts as one job."""
    jobs = data.get("jobs")
    if isinstance(jobs, dict) and any(isinstance(j, dict) and "steps" in j for j in jobs.values()):
        for name, job in jobs.items():
            title = job.get("name") if isinstance(job, dict) else None
            if not _OTHER_PURPOSE.search(str(name)) and not _title_is_other(title):
                yield str(name), job
    else:
        yield "", data


def leaves_out(key: str, value: Any) -> bool:
    """Whether a part of a CI file is named for linting, documentation, releases and the like."""
    return key in _SKIPPED_KEYS or _is_other(value)


def _is_other(item: Any) -> bool:
    """Whether a step or matrix entry says by its name, stage or environment that it doesn't test."""
    if not isinstance(item, dict):
        return False
    if any(_title_is_other(item.get(key)) for key in ("name", "job", "displayName", "stage", "session")):
        return True
    texts = [item.get(key) for key in ("env", "toxenv", "TOXENV", "tox", "tox_env", "tox-env")]
    return any(
        isinstance(t, str) and "py" not in t.lower().replace("pypy", "") and _title_is_other(t) for t in texts
    )


def _title_is_other(title: Any) -> bool:
    return (
        isinstance(title, str)
        and "${{" not in title
        and _OTHER_PURPOSE.search(re.sub(r"[_\s]+", "-", title)) is not None
        and not re.search(r"\btests?\b|\bunit", title, re.IGNORECASE)
    )
