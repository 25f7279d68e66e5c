"""What pytest's settings and conftest files make it load."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconstruct.environment.evidence.ini import IniFile
from reconstruct.environment.evidence.model import PytestNeeds
from reconstruct.environment.evidence.requirement_lines import name_of, named
from reconstruct.environment.evidence.setup_cfg import load_ini
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.knowledge import PluginTable, plugin_table

_PLUGINS: Final = re.compile(r"pytest_plugins\s*(?::[^=\n]{1,200})?=\s*([\[(]?[^\])\n]*(?:\n[^\])=]*)?)")


def read_pytest_settings(
    tree: SourceTree, notes: Notebook, setup_cfg: IniFile | None, pyproject: Mapping[str, Any]
) -> PytestNeeds:
    """Return the plugins and requirements that pytest can't start without here."""
    table = plugin_table()
    plugins: dict[str, None] = {}
    requirements: list[str] = []
    minimum = None
    sections = list(_sections(tree, notes, setup_cfg, pyproject))
    for path, options in sections:
        for plugin in plugins_of_options(options, table):
            notes.note("pytest_plugin", plugin, path)
            plugins[plugin] = None
        requirements.extend(named(_words(options.get("required_plugins", ""))))
        minimum = minimum or options.get("minversion")
    for path in tree.files:
        if path.endswith("conftest.py"):
            for plugin in _of_conftest(tree.read(path, notes) or "", table):
                notes.note("pytest_plugin", plugin, path)
                plugins[plugin] = None
    return PytestNeeds(
        plugins=tuple(plugins),
        requirements=tuple(dict.fromkeys(requirements)),
        minimum=minimum.strip() if minimum else None,
        configured=bool(sections),
    )


def _sections(
    tree: SourceTree, notes: Notebook, setup_cfg: IniFile | None, pyproject: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, str]]]:
    for path in ("pytest.ini", ".pytest.ini", "tox.ini"):
        ini = load_ini(path, tree, notes)
        if ini is not None and "pytest" in ini.sections:
            yield path, {option: ini.value("pytest", option) for option in ini.options("pytest")}
    for section in ("tool:pytest", "pytest"):
        if setup_cfg is not None and section in setup_cfg.sections:
            yield (
                "setup.cfg",
                {option: setup_cfg.value(section, option) for option in setup_cfg.options(section)},
            )
    table: Any = pyproject
    for name in ("tool", "pytest", "ini_options"):
        table = table.get(name) if isinstance(table, dict) else None
    if isinstance(table, dict):
        yield "pyproject.toml", {str(key): _as_text(value) for key, value in table.items()}


def _as_text(value: object) -> str:
    return " ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def plugins_of_options(options: Mapping[str, str], table: PluginTable) -> Iterator[str]:
    """Yield the distributions whose command-line options or settings appear among some settings."""
    words = _words(options.get("addopts", ""))
    for index, word in enumerate(words):
        flag = word.partition("=")[0]
        if flag == "-p" or (word.startswith("-p") and not word.startswith("--") and len(word) > 2):  # noqa: PLR2004
            name = word[2:] or (words[index + 1] if index + 1 < len(words) else "")
            if not name.startswith("no:") and name in table.modules:
                yield table.modules[name]
        elif flag in table.options:
            yield table.options[flag]
        elif not flag.startswith("--") and flag[:2] in table.short_options:
            yield table.short_options[flag[:2]]
    for option in options:
        if option in table.settings:
            yield table.settings[option]


def _of_conftest(text: str, table: PluginTable) -> Iterator[str]:
    for match in _PLUGINS.finditer(text[:200_000]):
        for name in re.findall(r"[\"']([\w.]+)[\"']", match[1]):
            if name in table.modules:
                yield table.modules[name]


def is_plugin(requirement: str) -> bool:
    """Whether a requirement is a pytest plugin, by its name."""
    name = name_of(requirement)
    return name.startswith("pytest-") or name in plugin_table().distributions
