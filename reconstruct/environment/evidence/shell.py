"""Install commands in shell scripts, as far as they can be read without running them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from reconstruct.environment.evidence.requirement_lines import Kind, RequirementLine, parse_line

ALL: Final = "*"
"""Among extras or groups: every one that the project declares."""
MAX_COMMANDS: Final = 500
MAX_LINE_CHARS: Final = 4_000
_SEPARATORS: Final = re.compile(r"&&|\|\||;|\||\n")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=\S*")
_UNKNOWN: Final = re.compile(r"[$`*?()]|\{\{|<\(|%[A-Z_]+%|^%|^&")
_PREFIXES: Final = frozenset(
    {
        "sudo",
        "time",
        "travis_retry",
        "then",
        "do",
        "else",
        "exec",
        "command",
        "if",
        "-E",
        "-H",
        "call",
        "retry",
    }
)
_PIP: Final = re.compile(r"(?:.*/)?pip(?:\d(?:\.\d+)?)?(?:\.exe)?")
_PYTHON: Final = re.compile(r"py|.*python\S*|\$\{?PYTHON\}?", re.IGNORECASE)
_WITH_VALUE: Final = frozenset(
    {
        "-f",
        "-i",
        "-t",
        "-b",
        "-d",
        "--find-links",
        "--index-url",
        "--extra-index-url",
        "--target",
        "--upgrade-strategy",
        "--use-feature",
        "--only-binary",
        "--no-binary",
        "--python",
        "--prefix",
        "--root",
        "--cache-dir",
        "--src",
        "--progress-bar",
        "--trusted-host",
        "--timeout",
        "--retries",
        "--log",
        "--global-option",
        "--install-option",
        "--config-settings",
        "-C",
        "--use-deprecated",
        "--exclude-newer",
        "--resolution",
        "--proxy",
        "--index-strategy",
        "--report",
        "--platform",
        "--abi",
        "-n",
        "--name",
        "-c",
        "--channel",
        "--file",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallCommand:
    """One command: `tool` is pip, conda, apt or project (poetry, pdm, uv with the project's own extras)."""

    tool: str
    lines: tuple[RequirementLine, ...] = ()
    names: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def install_commands(script: str) -> Iterator[InstallCommand]:
    """Yield the install commands of a script in their order; what depends on variables is left out."""
    joined = re.sub(r"[\\^`]\n\s*", " ", script)
    for count, part in enumerate(_SEPARATORS.split(_masked(joined))):
        if count >= MAX_COMMANDS:
            return
        words = _words(part)
        command = _command(words) if words else None
        if command is not None:
            yield command


def _masked(script: str) -> str:
    """Keep `;` and `|` that stand inside quotes (markers) from splitting the command."""
    return re.sub(r"\"[^\"\n]*\"|'[^'\n]*'", lambda m: m[0].replace(";", "\x01").replace("|", "\x02"), script)


def _words(part: str) -> list[str]:
    text = re.sub(r"(^|\s)#.*$", "", part.strip())[:MAX_LINE_CHARS]
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    words = [word.replace("\x01", ";").replace("\x02", "|") for word in words]
    while words and (words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
        words.pop(0)
    return words


def _command(words: list[str]) -> InstallCommand | None:
    if len(words) > 2 and _PYTHON.fullmatch(words[0]) and words[1] == "-m":  # noqa: PLR2004
        words = words[2:]
    if words[:2] == ["uv", "pip"]:
        words = words[1:]
    tool, rest = words[0], words[1:]
    if _PIP.fullmatch(tool) and "install" in rest[:3]:
        return _pip(rest[rest.index("install") + 1 :])
    if tool in {"conda", "mamba", "micromamba"} and {"install", "create"} & set(rest[:3]):
        return InstallCommand(tool="conda", names=tuple(_plain(rest[1:])))
    if tool in {"apt", "apt-get", "aptitude"} and "install" in rest:
        return InstallCommand(tool="apt", names=tuple(_plain(rest[rest.index("install") + 1 :])))
    if tool in {"poetry", "pdm", "uv"} and rest[:1] in (["install"], ["sync"], ["run"]):
        return _project(tool, rest)
    if tool == "flit" and rest[:1] == ["install"]:
        return _flit(rest[1:])
    return None


def _pip(words: list[str]) -> InstallCommand:
    lines: list[RequirementLine] = []
    groups: list[str] = []
    waiting = iter(words)
    for word in waiting:
        flag, _, value = word.partition("=")
        if flag in {"-r", "--requirement", "-c", "--constraint", "-e", "--editable", "--group"}:
            argument = value or next(waiting, "")
            if _UNKNOWN.search(argument) or not argument:
                continue
            if flag == "--group":
                groups.append(argument)
            else:
                lines.append(parse_line(f"{flag} {argument}"))
        elif flag in _WITH_VALUE and not value:
            next(waiting, None)
        elif not _UNKNOWN.search(word) and word and not word.startswith(("<", ">", "2>")):
            line = parse_line(word)
            lines.extend([line] if line.kind is not Kind.OPTION else [])
    return InstallCommand(tool="pip", lines=tuple(lines), groups=tuple(groups))


def _plain(words: list[str]) -> Iterator[str]:
    waiting = iter(words)
    for word in waiting:
        if word in _WITH_VALUE:
            next(waiting, None)
        elif not word.startswith("-") and word and not _UNKNOWN.search(word):
            yield word


def _project(tool: str, words: list[str]) -> InstallCommand | None:
    """`poetry install -E x --with y`, `pdm install -G z`, `uv sync --extra x --group y`, `--all-extras`."""
    extras: list[str] = [ALL] if "--all-extras" in words else []
    groups: list[str] = [ALL] if "--all-groups" in words else []
    waiting = iter(words)
    for word in waiting:
        flag, _, value = word.partition("=")
        if flag in {"-E", "--extras", "--extra", "--group", "-G", "--with", "--only-group"}:
            names = [
                n for n in re.split(r"[,\s]+", value or next(waiting, "")) if n and not _UNKNOWN.search(n)
            ]
            is_extra = flag in {"-E", "--extras", "--extra"}
            (extras if is_extra and not (tool == "uv" and flag == "--with") else groups).extend(names)
    return (
        InstallCommand(tool="project", extras=tuple(extras), groups=tuple(groups))
        if extras or groups
        else None
    )


def _flit(words: list[str]) -> InstallCommand | None:
    """`flit install` takes all extras, `--extras a,b` some, `--deps develop` those to develop with."""
    options = dict(zip(words, [*words[1:], ""], strict=False))
    options |= dict(word.split("=", 1) for word in words if "=" in word)
    of_deps = {"all": (ALL,), "develop": ("test", "dev")}
    extras = of_deps.get(options.get("--deps", "all"), ())
    if options.get("--extras"):
        extras = tuple(name for name in re.split(r"[,\s]+", options["--extras"]) if name)
        extras = (ALL,) if extras == ("all",) else extras
    return InstallCommand(tool="project", extras=extras) if extras else None
