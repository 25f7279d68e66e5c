"""What writers of tests and their proof exchange: a proposal, the subject it is about, and the proof of it.

A writer is anything with `propose(subject)`: it may believe what it likes, since nothing that it proposes
enters a task unless the proof admits it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

Origin = Literal["derived", "generated"]
"""`derived`: made from the issue, the pull request's tests or runs of gold, by rules; `generated`: written by
a language model."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One whole test file that somebody proposes.

    `path` is where it would lie, relative to the checkout, of a file that no tree of the task has; `text` is
    the file. `method` names the way that it was made (`issue_code`, `doctest_session`, `neighbour`,
    `differential`, `model:reproduction`), `evidence` is where it came from: quoted spans, node ids. One that
    is `public` shows nothing that the statement doesn't show, so a solver may have it.
    """

    path: str
    text: str
    origin: Origin
    method: str
    evidence: tuple[str, ...]
    public: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a proposal is admitted, and what was measured.

    `reasons` are codes of `testwriter.proof.codes`: why it is refused, each rule that it breaks once, and
    empty where it is admitted. `admitted_for` are the codes of what it is good for (it kills a wrong fix,
    covers a changed line, is the only test). `tests` are the canonical ids that fail before and pass after;
    `failing` are pairs (test, last line of its error before the fix). `output` is what a writer that repairs
    may read: what each rule found, and the last lines of the runs. `runs_before`, `runs_after` count runs.
    `kills` are blob hashes of the patches from gold to the wrong fixes that it rejects and no test before it
    did; `lines` are changed lines of gold (path, line) that it runs and no test before it did.
    """

    admitted: bool
    reasons: tuple[str, ...] = ()
    admitted_for: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()
    runs_before: int = 0
    runs_after: int = 0
    kills: tuple[str, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    output: str = ""


Prove = Callable[[Proposal], Proof]
"""Runs a proposal in every state and says what that shows; the same proposal is run once only.

Raises:
    SandboxError: the machinery broke; nothing is known of the proposal.
"""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A wrong fix that every hidden test lets pass: `patch` goes from gold to it, as text for reading.

    `diff` is the blob hash by which `Proof.kills` names it; `path` and `line` are where it differs.
    """

    diff: str
    kind: str
    path: str
    line: int
    operator: str
    patch: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What a writer may see of a task; None where it may not see it.

    `title` and `statement` are the issue's words. `paths` are the files of the base tree, `read` gives the
    bytes of one (None where there is none). `base_names` are all identifiers that the Python files of the
    base tree hold. `gold_patch` is the fix, `after` reads a file of the tree after it, and `upstream_tests`
    are the pull request's own test files after it (path, text): all three are hidden from who writes a
    reproduction from the issue alone. `survivors` are wrong fixes that want a test. `framework` is `pytest`
    or `unittest`; `folder` is where a new test file belongs, so that the project's own collection finds it.
    """

    instance_id: str
    statement: str
    paths: tuple[str, ...]
    read: Callable[[str], bytes | None]
    base_names: frozenset[str]
    folder: str
    title: str = ""
    framework: str = "pytest"
    gold_patch: str | None = None
    after: Callable[[str], bytes | None] | None = None
    upstream_tests: tuple[tuple[str, str], ...] | None = None
    survivors: tuple[Survivor, ...] = ()
    interface_names: frozenset[str] = frozenset()

    @property
    def sees_gold(self) -> bool:
        """Whether the fix may be looked at."""
        return self.gold_patch is not None


class Writer(Protocol):
    """Proposes test files for a subject, the most promising first.

    `prove` is for writers that repair what they wrote from what its runs printed; what they yield is proven
    again, for nothing, by who asked.
    """

    def propose(self, subject: Subject, prove: Prove) -> Iterable[Proposal]:
        """Yield proposals; what fails in the writer itself is told as fewer of them, never as an error."""
        ...
