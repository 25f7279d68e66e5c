"""Choose the wrong fixes of a task: nothing at all, parts of gold left out, emptied functions, mutants.

Pure and the same whenever it is done again: chance comes from a seed. Two wrong fixes that give the same
files are one, named by what says more.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from swequarry.git.patches import parse_patch
from swequarry.git.trees import TreeWorkbench
from swequarry.records import TreeSha, WrongFixKind
from swequarry.syntax.edits import ByteEdit, edited
from swequarry.syntax.grammars import first_line, last_line, parse, walk
from swequarry.verify.mutants import Mutant, mutants
from swequarry.verify.mutation_diff import ChangedFile, hunks_of, readable_patch
from swequarry.verify.mutation_equal import compiles, is_inert, same_program

_LINK = 0o120000
_ALIKE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FixLimits:
    """How many wrong fixes of each kind are tried at most."""

    hunks: int = 15
    files: int = 5
    bodies: int = 5
    mutants: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A wrong fix to try: the files in which it differs from gold, with their bytes (None: absent).

    `equivalent` ones needn't be run: they do what gold does. `lines` are those of gold that it changes; with
    `elsewhere` a test may notice it without running them, because it has lines that gold hasn't.
    """

    kind: WrongFixKind
    path: bytes
    files: Mapping[bytes, bytes | None]
    line: int = 0
    operator: str = ""
    equivalent: bool = False
    likely_equivalent: bool = False
    lines: frozenset[int] = frozenset()
    elsewhere: bool = False


def changed_files(bench: TreeWorkbench, before: TreeSha, after: TreeSha) -> tuple[ChangedFile, ...]:
    """Return the regular files that the gold patch changes, with their bytes as a checkout has them.

    Raises:
        ObjectMissingError: a file's content isn't in the store.
    """
    made, undone = bench.delta(before, after).files, bench.delta(after, before).files
    patches = {file.paths[-1]: file for file in parse_patch(bench.diff(before, after))}
    found = []
    for change in bench.changes(before, after, renames=True):
        path = change.new_path or change.old_path or b""
        new = made.get(change.new_path) if change.new_path else None
        old = undone.get(change.old_path) if change.old_path else None
        sides = [side for side in (old, new) if side is not None]
        if not sides or any(side.mode == _LINK for side in sides):
            continue
        found.append(
            ChangedFile(
                path=path,
                old=old.data if old is not None else None,
                new=new.data if new is not None else None,
                mode=new.mode if new is not None else 0o100644,
                old_mode=old.mode if old is not None else 0o100644,
                old_path=change.old_path,
                hunks=hunks_of(patches[path]) if path in patches else (),
            )
        )
    return tuple(found)


def wrong_fixes(
    files: Sequence[ChangedFile],
    seed: str,
    limits: FixLimits = FixLimits(),
) -> tuple[list[Attempt], int]:
    """Return the wrong fixes to try, the most telling first, and how many mutants there were beside these."""
    chance = random.Random(seed)  # noqa: S311 (a choice that anybody can make again)
    found = _Distinct()
    found.add(Attempt(kind=WrongFixKind.NO_OP, path=b"", files=_undone(files)))
    hunks = [hunk for file in files for hunk in _hunks(file)]
    found.add(*_some(found.new(hunks), limits.hunks, chance))
    whole = [_file_left_out(file) for file in files]
    found.add(*_some(found.new(whole), limits.files, chance))
    bodies = [body for file in files for body in _empty_bodies(file)]
    found.add(*_some(found.new(bodies), limits.bodies, chance))
    made = [mutant for file in files for mutant in _mutants(file)]
    fits = _Fitting(files)
    chosen = spread(
        [attempt for _, attempt in made], [place for place, _ in made], limits.mutants, chance, fits
    )
    found.add(*chosen)
    return found.attempts, len(made) - len(chosen)


def spread(
    attempts: Sequence[Attempt],
    places: Sequence[object],
    size: int,
    chance: random.Random,
    fits: Callable[[Attempt], bool] = lambda _: True,
) -> list[Attempt]:
    """Return some attempts that fit, as many of each place and operator as can be, at any length of the list.

    At most three have both in common: a list of words gives as many alike as it is long. Likely equivalent
    ones are taken only where there are no others.
    """
    sure = [number for number, attempt in enumerate(attempts) if not attempt.likely_equivalent]
    order = sorted(sure or range(len(attempts)), key=lambda _: chance.random())
    taken: list[int] = []
    used: dict[object, int] = {}
    while order and len(taken) < size:
        best = min(order, key=lambda n: (used.get(places[n], 0), used.get(attempts[n].operator, 0)))
        order.remove(best)
        operator = attempts[best].operator
        if used.get((places[best], operator), 0) == _ALIKE or not fits(attempts[best]):
            continue
        taken.append(best)
        for group in (places[best], operator, (places[best], operator)):
            used[group] = used.get(group, 0) + 1
    return [attempts[number] for number in taken]


class _Distinct:
    """Attempts without those that give the same files as an earlier one."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self._seen: set[frozenset[tuple[bytes, bytes | None]]] = set()

    def add(self, *attempts: Attempt) -> None:
        for attempt in self.new(attempts):
            self._seen.add(frozenset(attempt.files.items()))
            self.attempts.append(attempt)

    def new(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Return those that are none of the earlier ones, each once: what is drawn must not fall away."""
        fresh = {frozenset(attempt.files.items()): attempt for attempt in reversed(attempts)}
        return [fresh[key] for key in reversed(fresh) if key not in self._seen]


def _some(attempts: Sequence[Attempt], size: int, chance: random.Random) -> list[Attempt]:
    places = range(len(attempts))
    return [attempts[n] for n in sorted(chance.sample(places, min(size, len(attempts))))]


def _undone(files: Collection[ChangedFile]) -> dict[bytes, bytes | None]:
    undone: dict[bytes, bytes | None] = {file.path: None for file in files}
    undone.update({file.old_path: file.old for file in files if file.old_path is not None})
    return undone


def _file_left_out(file: ChangedFile) -> Attempt:
    return Attempt(
        kind=WrongFixKind.FILE_LEFT_OUT,
        path=file.path,
        files=_undone([file]),
        equivalent=is_inert(file.path)
        or _does_the_same(file, file.old if file.old_path == file.path else None),
    )


def _does_the_same(file: ChangedFile, data: bytes | None) -> bool:
    known = data is not None and file.new is not None
    return known and file.is_python and same_program(file.new or b"", data or b"")


def _hunks(file: ChangedFile) -> Iterator[Attempt]:
    for number, hunk in enumerate(file.hunks):
        data = file.without(number) if file.old is not None else None
        if data is not None:
            yield Attempt(
                kind=WrongFixKind.HUNK_LEFT_OUT,
                path=file.path,
                line=hunk.new_start,
                files={file.path: data, **_moved_back(file, data)},
                equivalent=is_inert(file.path) or _does_the_same(file, data),
                lines=frozenset(file.changed_lines()[number]),
                elsewhere=any(line.startswith(b"-") for line in hunk.lines),
            )


def _moved_back(file: ChangedFile, data: bytes) -> dict[bytes, bytes | None]:
    """Return the file at its old place too, where leaving out a hunk leaves nothing but the move."""
    whole = data == file.old and file.old_path not in (None, file.path)
    return {file.path: None, file.old_path: data} if whole and file.old_path is not None else {}


def _empty_bodies(file: ChangedFile) -> Iterator[Attempt]:
    """Yield the file with one of the innermost functions emptied that gold changed."""
    if not file.is_python or file.new is None:
        return
    lines = {line for hunk in file.changed_lines() for line in hunk}
    taken: set[int] = set()
    functions = [node for node in walk(parse(file.new).root_node) if node.type == "function_definition"]
    for node in sorted(functions, key=lambda node: node.end_byte - node.start_byte):
        body = node.child_by_field_name("body")
        own = set() if body is None else lines.intersection(range(first_line(body), last_line(body) + 1))
        if body is None or not own - taken:
            continue
        taken |= own
        data = edited(file.new, [ByteEdit(body.start_byte, body.end_byte, b"pass")])
        yield Attempt(
            kind=WrongFixKind.EMPTY_BODY,
            path=file.path,
            line=first_line(node),
            files={file.path: data},
            equivalent=_does_the_same(file, data),
            lines=frozenset(range(first_line(body), last_line(body) + 1)),
        )


def _mutants(file: ChangedFile) -> Iterator[tuple[object, Attempt]]:
    """Yield (place, mutant) of a file: the place is the hunk."""
    if not file.is_python or file.new is None or is_inert(file.path):
        return
    hunk_of = {line: number for number, hunk in enumerate(file.changed_lines()) for line in hunk}
    for mutant in mutants(file.new, hunk_of):
        yield (file.path, hunk_of[mutant.line]), _as_attempt(file, mutant)


class _Fitting:
    """Refuses mutants that provably change nothing, and those that are no program where gold is one."""

    def __init__(self, files: Sequence[ChangedFile]) -> None:
        self._gold = {file.path: file.new or b"" for file in files}
        self._sound: dict[bytes, bool] = {}

    def __call__(self, mutant: Attempt) -> bool:
        gold, data = self._gold[mutant.path], mutant.files[mutant.path] or b""
        if mutant.path not in self._sound:
            self._sound[mutant.path] = compiles(gold)
        return not self._sound[mutant.path] or (compiles(data) and not same_program(gold, data))


def _as_attempt(file: ChangedFile, mutant: Mutant) -> Attempt:
    return Attempt(
        kind=WrongFixKind.MUTANT,
        path=file.path,
        files={file.path: mutant.data},
        line=mutant.line,
        operator=mutant.operator,
        likely_equivalent=mutant.likely_equivalent,
        lines=frozenset((mutant.line,)),
    )


def difference(attempt: Attempt, files: Sequence[ChangedFile]) -> bytes:
    """Return the patch from gold to a wrong fix, for readers."""
    gold = {file.path: file.new for file in files}
    return b"".join(
        readable_patch(path, gold.get(path), data) for path, data in sorted(attempt.files.items())
    )
