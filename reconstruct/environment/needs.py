"""What tests need to run, chosen from a project's facts: the two tiers of requirements.

The first tier must install: the project's own test requirements. The second may lose any member: names
that CI and conda files give, kept only where the repository imports them, and what the changed tests want.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.utils import canonicalize_name

from reconstruct.environment import choices
from reconstruct.environment.choices import DEV_NAME, conda_file, for_tests, has_runner, suits
from reconstruct.environment.evidence.imports import FileImports, imports_of
from reconstruct.environment.evidence.model import Origin, Requested
from reconstruct.environment.evidence.pytest_settings import is_plugin
from reconstruct.environment.evidence.requirement_files import OPTIONAL_RANK, rank_name
from reconstruct.environment.evidence.requirement_lines import Kind, name_of, parse_line
from reconstruct.environment.evidence.shell import ALL
from reconstruct.environment.evidence.tox_names import environment_for, holds, nearest_version
from reconstruct.environment.facts import ProjectFacts
from reconstruct.environment.knowledge import (
    import_distributions,
    is_heavy,
    is_not_needed,
    is_of_no_use,
    plugin_table,
    wants_system_libraries,
)
from reconstruct.environment.requirement_sets import (
    RUNNER,
    agreeing,
    is_runner_part,
    one_each,
    tidy,
    unique,
    unpinned,
    without_runner_pins,
)

CORE: Final = frozenset({"numpy", "pandas"})
"""What CI or conda name goes to the first tier if it is one of these: too much is built against them."""
MEASURING: Final = frozenset({"coverage"})
_SEEDS: Final = frozenset({"pip", "setuptools", "wheel", "distribute", "python"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TestNeeds:
    """Requirements in two tiers, the project's extras to install with it, constraints, local packages.

    `essential` are the names in the first tier without which no test of the project can run.
    """

    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    essential: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    local: tuple[str, ...] = ()

    __test__ = False


def choose_needs(
    facts: ProjectFacts,
    python: str,
    changed_tests: Mapping[str, str],
    *,
    runner_pins: bool = True,
    wide_extras: bool = True,
) -> TestNeeds:
    """Return what tests of a project need with one Python version; `changed_tests` are texts by path.

    Without `runner_pins` the test runner is taken as young as the date allows. Without `wide_extras` an extra
    that only collects others is left out where there is one for tests; what is imported of it is optional.
    """
    imports = imports_of(changed_tests)
    return _Chooser(facts, python, imports, runner_pins=runner_pins, wide_extras=wide_extras).needs()


class _Chooser:
    def __init__(
        self,
        facts: ProjectFacts,
        python: str,
        changed: FileImports,
        *,
        runner_pins: bool,
        wide_extras: bool,
    ) -> None:
        self._runner_pins = runner_pins
        self._wide_extras = wide_extras
        self._collected: list[str] = []
        self._facts = facts
        self._python = python
        self._changed = changed
        self._own = canonicalize_name(facts.name) if facts.name else ""
        self._extras: dict[str, tuple[str, ...]] = {
            canonicalize_name(n): texts for n, texts in facts.extras().items()
        }
        self._imported = facts.imports.everywhere | changed.wanted
        self._tested = facts.imports.tests | changed.wanted

    def needs(self) -> TestNeeds:
        named = self._named_by_runners()
        extras, texts = self._with_extras(named)
        texts = [*named.requirements, *texts, *self._group_texts(named, extras)]
        files = self._of_files(texts, extras)
        texts += files.requirements
        extras += [name for name in files.extras if name not in extras and suits(name)]
        first = [*self._kept(texts), *self._facts.pytest.plugins, *self._facts.pytest.requirements]
        wanted = self._of_ci()
        have = {name_of(text) for text in first}
        first += [name for name in map(name_of, wanted) if name in CORE - have]
        first += self._imports(self._changed.needed)
        fragile = [text for text in first if wants_system_libraries(name_of(text))]
        first = [text for text in first if text not in fragile]
        present = {name_of(t) for t in (*first, *self._facts.dependencies)}
        if not self._runner_pins:
            wanted = [unpinned(text) for text in wanted]
        wanted += [t for t in self._kept(self._collected) if self._is_worth_it(name_of(t), t)]
        optional = [*fragile, *wanted, *self._imports(self._changed.wanted), *self._plugins()]
        named_only_runner = not extras and all(is_runner_part(text) for text in (*first, *wanted))
        optional += self._of_features(with_extras=named_only_runner)
        chosen = self._tools_unpinned(first if self._runner_pins else without_runner_pins(first))
        return TestNeeds(
            extras=tuple(extras),
            requirements=tidy(self._with_runner(chosen)),
            essential=unique(name_of(t) for t in first if is_runner_part(t) or name_of(t) in CORE),
            optional=one_each(t for t in optional if name_of(t) not in present and name_of(t) != RUNNER),
            constraints=self._constraints(named.constraints, [*first, *self._facts.dependencies]),
            local=named.local,
        )

    def _constraints(self, texts: tuple[str, ...], asked: Sequence[str]) -> tuple[str, ...]:
        """What the runners' constraint files say, else the lock file: never pins older than the Python.

        A pin of the lock file that what is `asked` for excludes is behind the tree, and left out.
        """
        kept = self._kept(texts)
        if not self._runner_pins:
            return without_runner_pins(kept)
        own = (line for line in self._facts.locked if name_of(line) != self._own)
        return kept or agreeing(own, asked, self._python)

    def _named_by_runners(self) -> Requested:
        """What tox's environment for this Python and the nox sessions that test ask for."""
        found = self._of_tox()
        if not found.requirements and not found.extras and not found.groups:
            for install in self._facts.nox:
                found = found.joined(install.requested)
        for install in self._facts.ci:
            own = Requested(extras=install.requested.extras, groups=install.requested.groups)
            found = found.joined(own)
        return found

    def _of_tox(self) -> Requested:
        tox = self._facts.tox
        sections = {section.name: section for section in tox.sections}
        if not sections:
            return Requested()
        names = tuple(dict.fromkeys([*tox.environments, *(n for n in sections if n)]))
        environment = environment_for(names, self._python)
        own = sections.get(environment)
        if environment not in names:
            own = sections.get(nearest_version(tuple(sections), environment) or "")
        chosen: list[Requested] = []
        for option in ("deps", "extras", "commands"):
            lines = getattr(own, option, None)
            if lines is None:
                lines = getattr(sections.get(""), option, None) or ()
            chosen.extend(line.requested for line in lines if holds(line.conditions, environment))
        return Requested.together(chosen)

    def _with_extras(self, named: Requested) -> tuple[list[str], list[str]]:
        """Extras to install with the project, and the texts of extras that hold unwanted things."""
        asked = [*named.extras, *(self._used_extras() if ALL in named.extras else ())]
        names = [n for n in asked if n != ALL and rank_name(n) is not None and suits(n)]
        if not names:
            names = self._declared_extras(has_others=bool(named.requirements or named.groups))
        passed: list[str] = []
        texts: list[str] = []
        if not self._wide_extras:
            names = self._narrow(names)
        for name in dict.fromkeys(canonicalize_name(n) for n in names):
            expanded = self._expand(name)
            if self._must_be_taken_apart(expanded):
                texts.extend(expanded)
            else:
                passed.append(name)
        return passed, texts

    def _narrow(self, names: list[str]) -> list[str]:
        """Extras without those that only collect others, where one for tests is left or declared."""
        expanded = {name: self._expand(name) for name in self._extras}
        wide = [name for name in names if choices.collects(canonicalize_name(name), expanded)]
        narrow = [name for name in names if name not in wide] or self._declared_extras(has_others=True)
        if not narrow:
            return names
        self._collected = [text for name in wide for text in self._expand(canonicalize_name(name))]
        return narrow

    def _used_extras(self) -> list[str]:
        """Declared extras for tests and development, and those of which the repository imports something."""
        return [
            name
            for name in self._extras
            if DEV_NAME.fullmatch(name)
            or any(is_runner_part(t) or self._is_imported(name_of(t)) for t in self._expand(name))
        ]

    def _must_be_taken_apart(self, texts: list[str]) -> bool:
        """Whether an extra holds what isn't wanted, or pins of the runner that have to go."""
        wanted = self._kept(texts)
        loose = wanted if self._runner_pins else without_runner_pins(wanted)
        return loose != unique(texts) or any(wants_system_libraries(name_of(text)) for text in texts)

    def _declared_extras(self, *, has_others: bool) -> list[str]:
        tests = [n for n in self._extras if n in {"test", "tests", "testing"}]
        return tests or ([] if has_others else [n for n in self._extras if DEV_NAME.fullmatch(n)])

    def _expand(self, extra: str) -> list[str]:
        return choices.expand(extra, self._extras, self._own)

    def _group_texts(self, named: Requested, extras: list[str]) -> list[str]:
        """Groups that tox or CI name and those for tests, else (no runner yet) those for developing."""
        groups = [g for g in self._facts.groups if g.origin is not Origin.EXTRA]
        asked = {n if n == ALL else canonicalize_name(n) for n in named.groups}
        chosen = [g for g in groups if canonicalize_name(g.name) in asked or (ALL in asked and suits(g.name))]
        chosen = [g for g in chosen if rank_name(g.name) is not None]
        chosen += [g for g in groups if for_tests(g)]
        texts = [text for group in chosen for text in group.requirements]
        reached = [*named.requirements, *texts, *(t for e in extras for t in self._expand(e))]
        if not has_runner(reached):
            developing = [g for g in groups if DEV_NAME.fullmatch(g.name) or g.origin is Origin.HATCH]
            texts += [text for group in developing for text in group.requirements]
        return texts

    def _of_files(self, texts: list[str], extras: list[str]) -> Requested:
        """Requirement files by name, only where nothing else names a runner; the best kind that is there."""
        reached = [*texts, *(t for e in extras for t in self._expand(e))]
        if has_runner(reached):
            return Requested()
        by_rank: dict[int, list[Requested]] = {}
        for file in self._facts.requirement_files:
            by_rank.setdefault(rank_name(file.path) or 0, []).append(file.requested)
        found = by_rank.get(0) or by_rank.get(1) or []
        if not self._facts.is_package or not found:
            found = [*by_rank.get(2, []), *found]
        return Requested.together(found)

    def _with_runner(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The runner is always asked for, unless it is the project itself."""
        if self._own == RUNNER or any(name_of(text) == RUNNER for text in texts):
            return tuple(texts)
        minimum = self._facts.pytest.minimum
        line = parse_line(f"{RUNNER}>={minimum}" if minimum else RUNNER)
        return (*texts, line.text if line.kind is Kind.NAMED else RUNNER)

    def _kept(self, texts: Iterable[str]) -> tuple[str, ...]:
        return unique(t for t in texts if self._is_kept(name_of(t)) and not self._is_of_no_use(t))

    def _is_of_no_use(self, text: str) -> bool:
        return ";" not in text and is_of_no_use(name_of(text), self._python)

    def _is_kept(self, name: str) -> bool:
        if not name or name == self._own or name in _SEEDS:
            return False
        return not is_not_needed(name) or bool(self._import_names(name) & self._tested)

    def _tools_unpinned(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Measuring tools that no test imports lose their bounds: these clash more often than they help."""
        loose = MEASURING - self._tested
        return tuple(name_of(text) if name_of(text) in loose else text for text in texts)

    def _import_names(self, distribution: str) -> set[str]:
        return {distribution.replace("-", "_"), *_names_of().get(distribution, ())}

    def _of_ci(self) -> list[str]:
        """Names in CI jobs and in the conda file for this Python, where the repository imports them."""
        texts = [t for install in self._facts.ci for t in install.requested.requirements]
        conda = conda_file(self._facts.conda_files, self._python)
        if conda is not None:
            texts += [*conda.names, *conda.requested.requirements]
        return [text for text in self._kept(texts) if self._is_worth_it(name_of(text), text)]

    def _of_features(self, *, with_extras: bool) -> list[str]:
        """What files (and extras) of optional features ask for, where the tests import it."""
        extras = self._extras if with_extras else {}
        texts = [t for name, inner in extras.items() if suits(name) for t in inner]
        for file in self._facts.requirement_files:
            if rank_name(file.path) == OPTIONAL_RANK:
                texts += file.requested.requirements
        tested = {name.lower() for name in self._tested}
        return [
            text
            for text in self._kept(texts)
            if not is_heavy(name := name_of(text))
            and tested.intersection(n.lower() for n in self._import_names(name))
        ]

    def _is_worth_it(self, name: str, text: str) -> bool:
        if is_heavy(name):
            return bool(self._import_names(name) & self._changed.wanted)
        return is_plugin(text) or self._is_imported(name)

    def _is_imported(self, distribution: str) -> bool:
        lowered = {name.lower() for name in self._imported}
        return any(name.lower() in lowered for name in self._import_names(distribution))

    def _imports(self, names: frozenset[str]) -> list[str]:
        """Distributions of imported names: named by the project itself, or known for certain."""
        evident = self._evident()
        brought = {name_of(text) for text in self._facts.dependencies}
        found = []
        for name in sorted(names - sys.stdlib_module_names - set(self._facts.layout.modules)):
            known = import_distributions().get(name)
            distribution = canonicalize_name(known or name)
            if distribution in brought:
                continue
            if distribution in evident:
                found.append(unpinned(evident[distribution]))
            elif known is not None and name not in self._facts.layout.local_modules:
                found.append(known)
        return list(self._kept(found))

    def _evident(self) -> dict[str, str]:
        """Every distribution that the project's own files name, with the first text that names it."""
        found: dict[str, str] = {}
        for text in self._facts.named():
            found.setdefault(name_of(text), text)
        return {name: text for name, text in found.items() if name}

    def _plugins(self) -> list[str]:
        """Plugins whose fixtures or markers the changed tests use and the tree doesn't define itself."""
        table = plugin_table()
        fixtures = self._changed.fixtures - self._facts.imports.functions
        found = [table.fixtures[f] for f in sorted(fixtures) if f in table.fixtures]
        return found + [table.markers[m] for m in sorted(self._changed.markers) if m in table.markers]


def _names_of() -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, distribution in import_distributions().items():
        found.setdefault(canonicalize_name(distribution), set()).add(name)
    return found
