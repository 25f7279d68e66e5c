"""The last word about a candidate: the rules, its licence, and whether a benchmark has it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from license_expression import ExpressionError

from miner.decontam.compare import Action, Comparer
from miner.decontam.fingerprint import Fingerprints, make_fingerprints, merged
from miner.decontam.items import Item, Part, change_hash, normal_form, read_items
from miner.decontam.shipped import benchmark_path, shipped_names
from miner.licence import spdx_table
from miner.rules.all_rules import PULL_RULES, RULES
from miner.rules.interface import Health, Subject
from miner.rules.personal import redacted
from swequarry.config import CurateSettings
from swequarry.errors import ConfigError, InputError
from swequarry.outcome import Accepted, Outcome, RejectCode, Rejected
from swequarry.records import Candidate, Licence, PullRecord, RepoRef

PERMISSIVE = "permissive"
_PERMISSIVE = (
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 HPND ISC MIT MIT-0 MIT-CMU PSF-2.0 Python-2.0 "
    "Unlicense WTFPL Zlib"
)
"""Licences that ask for no more than notices."""
_SHOWN = 5
_UNKNOWN = Health()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What settings say about candidates."""

    settings: CurateSettings
    opted_out: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    comparer: Comparer | None = field(default=None, repr=False)
    keeps_reviewed: bool = True

    def judge_pull(self, pull: PullRecord) -> Rejected | None:
        """Return why a pull request is dropped, by its record alone; None where no rule objects."""
        if objection := self._opted_out(pull.repo):
            return objection
        return next((found for rule in PULL_RULES if (found := rule(pull, self.settings))), None)

    def _opted_out(self, repo: RepoRef) -> Rejected | None:
        name = repo.full_name.lower()
        fitting = next((pattern for pattern in self.opted_out if fnmatchcase(name, pattern)), None)
        if fitting is None:
            return None
        return Rejected(
            code=RejectCode.OPTED_OUT, message=f"{name} is on the list, by {fitting!r}", evidence=(fitting,)
        )

    def judge(
        self,
        candidate: Candidate,
        gold: bytes,
        tests: bytes,
        health: Health = _UNKNOWN,
        roots: tuple[str, ...] = (),
    ) -> Outcome[Candidate]:
        """Return the candidate, with what it has in common with benchmarks, or why it is dropped.

        What the policy wants taken out of the statement is taken out first, and flagged. `roots` are the
        first commits of the repository, by which a fork or a new name is told.
        """
        if objection := self._opted_out(candidate.repo):
            return objection
        statement, flags = redacted(candidate.statement, self.settings)
        if flags:
            told = tuple(dict.fromkeys((*candidate.flags, *flags)))
            candidate = replace(candidate, statement=statement, flags=told)
        subject = Subject(candidate=candidate, gold=gold, tests=tests, health=health)
        for rule in RULES:
            objection = rule(subject, self.settings)
            if objection is not None:
                return objection
        if self.allowed and not is_allowed(candidate.licence, self.allowed):
            return _licence(candidate.licence)
        if self.comparer is None:
            return Accepted(value=candidate)
        (decision,) = self.comparer.decisions([_item(candidate, gold, tests, roots)])
        told = tuple(str(match) for match in decision.matches[:_SHOWN])
        dropped = {Action.REMOVE} if self.keeps_reviewed else {Action.REMOVE, Action.REVIEW}
        if decision.action in dropped:
            return Rejected(code=RejectCode.CONTAMINATED, message=f"it {told[0]}", evidence=told)
        return Accepted(value=replace(candidate, contamination=told))


def check_policy(settings: CurateSettings) -> None:
    """See that settings can be a policy, before anything is mined.

    Raises:
        ConfigError: a licence is no SPDX id.
        InputError: a benchmark is missing, or the list of those who opted out can't be read.
    """
    list(_ids(settings.licences))
    _opted_out(settings.opt_out)
    for path in settings.decontamination.against:
        if not benchmark_path(path).is_file():
            raise InputError(
                f"there is no benchmark {path}; name rows (.jsonl, .parquet), fingerprints (.npz), or one "
                f"that comes with the program: {', '.join(shipped_names())}"
            )


def read_policy(settings: CurateSettings) -> Policy:
    """Return the policy of settings; benchmarks are read, and rows of theirs that can't be are left out.

    Raises:
        ConfigError: a licence is no SPDX id.
        InputError: a benchmark or the list of those who opted out can't be read.
    """
    chosen = settings.decontamination
    return Policy(
        settings=settings,
        opted_out=_opted_out(settings.opt_out),
        allowed=frozenset(_ids(settings.licences)),
        comparer=Comparer(benchmarks(chosen.against), Action(chosen.repository)) if chosen.against else None,
        keeps_reviewed=chosen.review == "keep",
    )


def benchmarks(paths: tuple[Path, ...]) -> Fingerprints:
    """Return the fingerprints of benchmarks, from files of rows or of fingerprints (.npz).

    Raises:
        InputError: one can't be read.
    """
    found = [benchmark_path(path) for path in paths]
    return merged([Fingerprints.load(p) if p.suffix == ".npz" else fingerprints_of(p, p.stem) for p in found])


def fingerprints_of(path: Path, name: str) -> Fingerprints:
    """Return the fingerprints of a file of rows.

    Raises:
        InputError: it can't be read.
    """
    return make_fingerprints((item for item in read_items(path) if isinstance(item, Item)), name)


def is_allowed(licence: Licence | None, allowed: frozenset[str]) -> bool:
    """Whether a licence is one of some SPDX ids: all that apply together, one of those to choose from."""
    return licence is not None and licence.spdx is not None and _fits(licence.spdx, allowed)


@lru_cache(maxsize=1024)
def _fits(spdx: str, allowed: frozenset[str]) -> bool:
    licensing = spdx_table()
    try:
        expression = licensing.parse(spdx)
    except ExpressionError:
        return False

    def holds(part: Any) -> bool:
        if isinstance(part, licensing.OR):
            return any(map(holds, part.args))
        if isinstance(part, licensing.AND):
            return all(map(holds, part.args))
        return str(part).lower() in allowed

    return expression is not None and holds(expression)


def _opted_out(path: Path | None) -> tuple[str, ...]:
    if path is None:
        return ()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read as a list of repositories: {error}") from error
    names = [line.partition("#")[0].strip().lower() for line in lines]
    bad = next((name for name in names if name and name.count("/") != 1), None)
    if bad is not None:
        raise InputError(f"{path}: {bad!r} is neither `owner/name` nor a pattern such as `owner/*`")
    return tuple(name for name in names if name)


def _ids(names: tuple[str, ...]) -> Iterator[str]:
    known = {key.lower() for key in spdx_table().known_symbols}
    for name in names:
        if name == PERMISSIVE:
            yield from _PERMISSIVE.lower().split()
        elif name.lower() in known:
            yield name.lower()
        else:
            raise ConfigError(
                f"curate.licences: {name!r} is no SPDX id such as MIT; `{PERMISSIVE}` stands for many"
            )


def _licence(licence: Licence | None) -> Rejected:
    told = licence.spdx if licence else None
    message = f"the licence is {told}" if told else "the licence can't be told"
    evidence = (
        *(licence.files if licence else ()),
        *([licence.evidence] if licence and licence.evidence else ()),
    )
    return Rejected(code=RejectCode.LICENCE, message=message, evidence=evidence)


def _item(candidate: Candidate, gold: bytes, tests: bytes, roots: tuple[str, ...]) -> Item:
    texts = {
        Part.STATEMENT: candidate.statement.text,
        Part.GOLD: gold.decode("utf-8", "surrogateescape"),
        Part.TESTS: tests.decode("utf-8", "surrogateescape"),
    }
    return Item(
        id=candidate.instance_id,
        parts={part: normal_form(text, part) for part, text in texts.items() if text.strip()},
        repo=candidate.repo.full_name,
        pull=candidate.pull_number,
        base=candidate.base_commit,
        change=change_hash(gold),
        roots=roots,
    )
