"""Compares how the example's pull requests ended with what its script says."""

from dataclasses import asdict, dataclass
from typing import Any

from swequarry.pipeline.demo.build import REPO
from swequarry.pipeline.demo.pulls import PULLS
from swequarry.pipeline.demo.story import Pull
from swequarry.records import Task
from swequarry.report.model import ReportData


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoEnd:
    """How one pull request had to end and did."""

    number: int
    title: str
    kind: str
    must: str
    did: str

    @property
    def as_expected(self) -> bool:
        """Whether it ended as the script says."""
        return self.must == self.did

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**asdict(self), "as_expected": self.as_expected}


def compare_ends(data: ReportData) -> tuple[DemoEnd, ...]:
    """Return one line per pull request of the script, in its order."""
    verified = {entry.task.instance_id: entry.task for entry in data.tasks}
    others = {entry.item: entry.code.value for entry in data.rejects}
    others |= {entry.item: f"failed: {entry.boundary.value}" for entry in data.failures}
    return tuple(_end(pull, verified, others) for pull in PULLS)


def _end(pull: Pull, verified: dict[str, Task], others: dict[str, str]) -> DemoEnd:
    item = REPO.instance_id(pull.number)
    did = _did(pull, verified[item]) if item in verified else others.get(item, "without an end")
    code = pull.expected.code
    must = (
        code.value
        if code
        else _accepted(
            pull.expected.fail_to_pass,
            quarantined=bool(pull.expected.quarantined),
            reasons={pull.expected.reason},
            written=pull.expected.written,
        )
    )
    return DemoEnd(number=pull.number, title=pull.title, kind=pull.kind.value, must=must, did=did)


def _did(pull: Pull, task: Task) -> str:
    verification = task.verification
    prefix = pull.expected.quarantined
    ours = [test.id for test in verification.quarantined if not prefix or test.id.startswith(prefix)]
    if len(ours) != len(verification.quarantined):
        return f"accepted, but {len(verification.quarantined) - len(ours)} other tests are quarantined"
    told = {test.reason for test in verification.quarantined} if pull.expected.reason else {""}
    added = {test for file in task.verifier.added for test in file.tests}
    own = tuple(test for test in verification.fail_to_pass if test not in added)
    written = not own and bool(added.intersection(verification.fail_to_pass))
    return _accepted(own, quarantined=bool(ours), reasons=told, written=written)


def _accepted(tests: tuple[str, ...], *, quarantined: bool, reasons: set[str], written: bool) -> str:
    names = ", ".join(sorted(test.rpartition("::")[2] for test in tests))
    if written:
        names = "tests that were derived and proven"
    if not quarantined:
        return f"accepted: {names}"
    why = ", ".join(sorted(reasons - {""}))
    return f"accepted: {names}; unstable tests quarantined" + (f" ({why})" if why else "")
