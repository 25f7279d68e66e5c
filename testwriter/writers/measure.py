"""Run expressions before and after the fix, keep what differs, and write down what the fix gives.

What base and gold agree on may stand beside it: no right fix changes that, and many a wrong one does. An
error is expected only where the issue names it, and only plain values are: who fixes it otherwise is right.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import sha256_hex
from swequarry.verify.candidate import overlaid
from swequarry.verify.runner import RunOptions
from testwriter.interface import Proposal, Subject
from testwriter.proof.runs import Stand
from testwriter.subjects import new_path

_SEED = 66_000
_MARK = "swequarry-value:"
_VALUE = re.compile(re.escape(_MARK) + r"(.*):\.$")
_TOGETHER, _GUARDS, _BATCH = 6, 6, 60
_TELL = f"""
def _plain(value):
    kind = type(value)
    if kind in (list, tuple):
        return all(_plain(part) for part in value)
    if kind is dict:
        return all(_plain(key) and _plain(part) for key, part in value.items())
    return value is None or kind in (int, float, str, bool, bytes)


def _tell(ask):
    try:
        value = ask()
    except Exception as error:
        raise AssertionError("{_MARK}" + ascii(("error", type(error).__name__)) + ":.")
    assert _plain(value), "no plain value"
    raise AssertionError("{_MARK}" + ascii(("value", value)) + ":.")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """An expression with all that it takes: import lines, statements before it, and where it came from."""

    imports: tuple[str, ...]
    setup: str
    value: str
    quote: str

    @property
    def body(self) -> str:
        """The statements and the expression, as the body of a function that gives its value."""
        return f"{self.setup}\nreturn {self.value}" if self.setup else f"return {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a probe gave: its value where `raised` is None, else the name of the error's class."""

    value: object = None
    raised: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A probe with its answers before and after the fix."""

    probe: Probe
    before: Answer
    after: Answer

    @property
    def differs(self) -> bool:
        """Whether the fix changes the answer; 1 and True aren't the same here."""
        return repr(self.before) != repr(self.after)


def measured(stand: Stand, subject: Subject, probes: Sequence[Probe]) -> list[Measured]:
    """Return the probes that have an answer in both states, in their order; two runs for each 60 of them.

    Raises:
        SandboxError: the machinery broke.
    """
    found = []
    for start in range(0, len(probes), _BATCH):
        batch = [probe for probe in probes[start : start + _BATCH] if _parses(probe)]
        if not batch:
            continue
        path = new_path(subject, f"probe_{sha256_hex(repr(batch).encode())[:8]}")
        was, became = (_answers(stand, delta, path, batch) for delta in (stand.before, stand.after))
        found += [
            Measured(probe=probe, before=was[number], after=became[number])
            for number, probe in enumerate(batch)
            if number in was and number in became
        ]
    return found


def _parses(probe: Probe) -> bool:
    try:
        tree = ast.parse("\n".join([*probe.imports, probe.setup, probe.value]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not any(isinstance(node, ast.Return | ast.Await | ast.Yield) for node in ast.walk(tree))


def _answers(stand: Stand, delta: TreeDelta, path: str, probes: Sequence[Probe]) -> dict[int, Answer]:
    text = _TELL + "".join(_asking(number, probe) for number, probe in enumerate(probes))
    whole = overlaid(delta, TreeDelta(files={path.encode(): FileContent(data=text.encode())}))
    run = stand.rig.run(whole, (path,), stand.recipe, _SEED, RunOptions())
    found = {}
    for result in run.report.results:
        number = re.search(r"::test_probe_(\d+)$", result.id)
        answer = _answer(result.detail)
        if number and answer is not None:
            found[int(number[1])] = answer
    return found


def _asking(number: int, probe: Probe) -> str:
    body = "\n".join("        " + line for line in ast.unparse(ast.parse(probe.body)).splitlines())
    imports = "".join(f"    {line}\n" for line in probe.imports)
    return f"\n\ndef test_probe_{number}():\n{imports}\n    def ask():\n{body}\n\n    _tell(ask)\n"


def _answer(detail: str) -> Answer | None:
    match = _VALUE.search(detail)
    try:
        told = ast.literal_eval(match[1]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    match told:
        case ("value", value):
            return Answer(value=value)
        case ("error", str(name)):
            return Answer(raised=name)
        case _:
            return None


# --- what is written down -----------------------------------------------------------------------------------


def written_down(subject: Subject, found: Sequence[Measured], method: str) -> Iterator[Proposal]:
    """Yield test files that want what the fix gives: several answers together, then each by itself."""
    turning = [one for one in found if one.differs and _is_wanted(one.after, subject)]
    guards = [one for one in found if not one.differs and one.after.raised is None][:_GUARDS]
    if len(turning) > 1 or (turning and guards):
        yield _file(subject, [*turning[:_TOGETHER], *guards], method)
    for one in turning[: 2 * _TOGETHER]:
        yield _file(subject, [one], method)


def _is_wanted(answer: Answer, subject: Subject) -> bool:
    said = f"{subject.title}\n{subject.statement}"
    return answer.raised is None or re.search(rf"\b{re.escape(answer.raised)}\b", said) is not None


def _file(subject: Subject, found: Sequence[Measured], method: str) -> Proposal:
    imports = {line for one in found for line in one.probe.imports}
    if any(one.after.raised for one in found):
        imports.add("import pytest")
    head = "\n".join(sorted(imports, key=lambda line: (line.startswith("from"), line)))
    parts = [_part(one, number if len(found) > 1 else None) for number, one in enumerate(found, start=1)]
    body = "\n\n".join(parts)
    calls = (
        "".join(f"    answer_{number}()\n" for number in range(1, len(found) + 1)) if len(found) > 1 else ""
    )
    text = f"{head}\n\n\ndef test_what_the_fix_gives():\n{body}\n{calls}".lstrip()
    return Proposal(
        path=new_path(subject, f"{method}_{sha256_hex(text.encode())[:8]}"),
        text=text,
        origin="derived",
        method=method,
        evidence=tuple(dict.fromkeys(one.probe.quote[:500] for one in found)),
    )


def _part(one: Measured, number: int | None) -> str:
    """Return the statements that ask and judge; a function of its own where there are several."""
    setup = one.probe.setup
    if one.after.raised is not None:
        inner = ast.unparse(ast.parse(f"with pytest.raises({one.after.raised}):\n    {one.probe.value}"))
    else:
        inner = f"assert {one.probe.value} == {one.after.value!a}"
    body = indented(ast.unparse(ast.parse(f"{setup}\n{inner}")))
    return body if number is None else indented(f"def answer_{number}():\n{body}")


def indented(text: str) -> str:
    """Return some lines one step further in; what is empty stays so."""
    return "\n".join("    " + line if line.strip() else "" for line in text.splitlines())
