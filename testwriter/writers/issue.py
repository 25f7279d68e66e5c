"""Reproduction tests from the words of an issue alone: pasted code, sessions, tracebacks, expected values.

An issue shows what goes wrong, seldom what would be right. So everything that it may mean is proposed, the
most telling first: a value that it expects, a call that must not raise what it shows, an error that it wants,
and last that what it shows isn't what comes out any more. The runs tell what holds.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from swequarry.records import sha256_hex
from testwriter.interface import Proposal, Prove, Subject
from testwriter.subjects import new_path
from testwriter.writers.markdown import Block, IssueText, Span, raised_in, read_issue
from testwriter.writers.measure import Probe
from testwriter.writers.resolve import Names, missing_imports, names_of
from testwriter.writers.snippets import Step, read_snippet

_CODE = frozenset(
    {"", "python", "py", "python3", "py3", "pycon", "ipython", "python-repl", "pytb", "console"}
)
_EXPECTS = re.compile(
    r"\b(?:expect|should|correct|desired|want|ought|would like|instead|must|fine|works|right)", re.IGNORECASE
)
_WANTS_ERROR = re.compile(
    r"\b(?:should|must|expected to|helpful if|nice if|better to|could|would expect)\b[^.]{0,80}?"
    r"\b(?:raise[sd]?|throw[ns]?)\b[^.]{0,40}?\b([A-Z]\w*(?:Error|Exception|Warning))\b"
)
_WANTED = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b`?[^.]{0,30}\b(?:should|must) be raised")
_BARE = re.compile(r"(?<![\w.`\"'])(-?\d+(?:\.\d+)?|True|False|None|\"[^\"`]*\"|'[^'`]*')(?![\w`])")
_MOST_STEPS = 40
_LONG = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Idea:
    """One thing that an issue may mean: a test's body, how it was read and how telling it is (0 is most)."""

    rank: int
    method: str
    body: str
    quote: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IssueWriter:
    """Proposes reproductions of what an issue shows; it looks at nothing else but the base tree."""

    most: int = 40

    def propose(self, subject: Subject, prove: Prove) -> Iterable[Proposal]:
        """Yield one file for each idea, the most telling first, each text once."""
        del prove
        issue = read_issue(f"{subject.title}\n\n{subject.statement}")
        names = names_of(subject)
        seen: set[str] = set()
        for idea in sorted(_ideas(issue, names), key=lambda idea: idea.rank):
            made = _file(idea, names)
            if made is None or made in seen or len(seen) >= self.most:
                continue
            seen.add(made)
            yield Proposal(
                path=new_path(subject, f"issue_{sha256_hex(made.encode())[:8]}"),
                text=made,
                origin="derived",
                method=idea.method,
                evidence=(idea.quote[:_LONG],),
                public=True,
            )


def shown_values(subject: Subject) -> Iterator[Probe]:
    """Yield the expressions that an issue shows, with what leads to them: their values can be measured."""
    issue, names = read_issue(f"{subject.title}\n\n{subject.statement}"), names_of(subject)
    found: dict[tuple[str, str], str] = {}
    for block in issue.blocks:
        steps = _without_errors(_steps(block))
        for number, step in enumerate(steps):
            value = step.value or _assigned(step.source)
            if value is not None:
                found.setdefault((_sources(steps[:number]), value), block.text)
    for span in issue.spans:
        call = _call(span.code)
        if call is not None:
            found.setdefault(("", call), span.sentence)
    for (setup, value), quote in found.items():
        try:
            lines = missing_imports(f"{setup}\n{value}", names)
        except SyntaxError:
            continue
        if lines is not None:
            yield Probe(imports=tuple(lines), setup=setup, value=value, quote=quote)


def _assigned(source: str) -> str | None:
    """Return what a plain assignment gives to its name."""
    node = ast.parse(source).body[0]
    return ast.unparse(node.value) if isinstance(node, ast.Assign) else None


def may_reproduce(statement: str, title: str = "") -> bool:
    """Whether an issue shows code at all, told without looking at a repository."""
    issue = read_issue(f"{title}\n\n{statement}")
    shown = any(_steps(block) for block in issue.blocks)
    return shown or any(_call(span.code) for span in issue.spans)


def _ideas(issue: IssueText, names: Names) -> Iterator[_Idea]:
    before: tuple[Step, ...] = ()
    for number, block in enumerate(issue.blocks):
        steps = _steps(block)
        if not steps:
            continue
        whole = steps
        if before and missing_imports(_sources(steps), names) is None:
            whole = (*before, *steps)
        following = issue.blocks[number + 1 :]
        yield from _of_block(whole, len(whole) - len(steps), block, following, issue)
        before = (*before, *_without_errors(steps))[-_MOST_STEPS:]
    for span in issue.spans:
        yield from _of_span(span, issue)


def _steps(block: Block) -> tuple[Step, ...]:
    if block.language not in _CODE or block.is_traceback:
        return ()
    steps = read_snippet(block.text)[:_MOST_STEPS]
    return steps if any(_does_something(step.source) for step in steps) else ()


def _does_something(source: str) -> bool:
    nodes = list(ast.walk(ast.parse(source)))
    return any(isinstance(node, ast.Call | ast.ClassDef | ast.Compare | ast.With) for node in nodes)


def _without_errors(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(step for step in steps if raised_in(step.output) is None)


def _sources(steps: Sequence[Step]) -> str:
    return "\n".join(step.source for step in steps)


# --- ideas from blocks --------------------------------------------------------------------------------------


def _of_block(
    steps: Sequence[Step], first: int, block: Block, following: Sequence[Block], issue: IssueText
) -> Iterator[_Idea]:
    for number in range(first, len(steps)):
        yield from _of_step(steps[: number + 1], block)
    last = steps[-1]
    if last.value is not None and not last.output:
        for shown in _outputs(following):
            yield from _of_value(steps, shown.text, shown.words, block.text)
            yield from _line_by_line(steps, first, shown, block.text)
    if issue.errors:
        yield _Idea(rank=1, method="issue_code", body=_sources(steps), quote=block.text)
    yield from _wanting_errors(steps, issue, block)


def _line_by_line(steps: Sequence[Step], first: int, shown: Block, quote: str) -> Iterator[_Idea]:
    """Yield ideas of each statement that prints, where a block has as many lines as there are of them."""
    printing = [n for n in range(first, len(steps)) if steps[n].source.startswith(("print(", "pprint("))]
    lines = shown.text.strip().splitlines()
    if len(lines) == len(printing) > 1:
        for number, line in zip(printing, lines, strict=True):
            if steps[number].value is not None:
                yield from _of_value(steps[: number + 1], line, shown.words, quote)


def _outputs(following: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks right after one of code that show no code: what came out, and what should have."""
    for block in following:
        if block.is_traceback:
            continue
        if _steps(block):
            return
        yield block


def _of_step(steps: Sequence[Step], block: Block) -> Iterator[_Idea]:
    step = steps[-1]
    raised = raised_in(step.output)
    if raised is not None and ("Traceback" in step.output or step.output.startswith(raised)):
        calm = (*_without_errors(steps[:-1]), step)
        yield _Idea(rank=1, method="doctest_session", body=_sources(calm), quote=block.text)
    elif step.value is not None and step.output:
        calm = (*_without_errors(steps[:-1]), step)
        yield from _of_value(calm, step.output, f"{block.words}\n{step.output}", block.text)


def _of_value(steps: Sequence[Step], output: str, words: str, quote: str) -> Iterator[_Idea]:
    """Yield that a value is what is shown, where that may be wanted, and that it isn't, which is weaker."""
    step, start = steps[-1], _sources(steps[:-1])
    value = step.value or step.source
    for shown in dict.fromkeys((output.strip(), _after_cue(output))):
        if not shown or len(shown) > _LONG:
            continue
        same, needs = _comparison(shown, printed=step.printed)
        body = f"{start}\nresult = {value}\nassert {same}"
        rank = 0 if _EXPECTS.search(words) else 2
        yield _Idea(rank=rank, method="expected_output", body=body, quote=quote, needs=needs)
        body = f"{start}\nresult = {value}\nassert not ({same})"
        yield _Idea(rank=4, method="shown_output", body=body, quote=quote, needs=needs)


def _after_cue(output: str) -> str:
    """Return what a comment says without its introduction: `expected: 3`, `=> 3`, `should be 3`."""
    cue = r"^(?:=+>|-+>|[Rr]eturns?|[Gg]ives?|[Oo]utputs?|(?:[Ss]hould|[Ee]xpect\w*|[Cc]orrect)[\w ]*?)[: ]+"
    return re.sub(cue, "", output.strip(), count=1).strip()


def _comparison(shown: str, *, printed: bool) -> tuple[str, tuple[str, ...]]:
    """Return a condition that the name `result` shows as a text, and the modules that it needs."""
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        text = " ".join(re.sub(r"0x[0-9a-fA-F.]+", "0x", shown).split())
        made = "str(result)" if printed else "repr(result)"
        return f"' '.join(re.sub(r'0x[0-9a-fA-F.]+', '0x', {made}).split()) == {text!a}", ("re",)
    if printed and not isinstance(value, str):
        return f"str(result) == {shown!a}" if "\n" not in shown else f"result == {value!a}", ()
    return f"result == {value!a}", ()


def _wanting_errors(steps: Sequence[Step], issue: IssueText, block: Block) -> Iterator[_Idea]:
    text = "\n".join([block.words, *(other.words for other in issue.blocks)])
    text += "\n" + "\n".join(span.sentence for span in issue.spans)
    wanted = dict.fromkeys([*_WANTS_ERROR.findall(text), *_WANTED.findall(text)])
    last = steps[-1].source.replace("\n", "\n    ")
    for error in list(wanted)[:2]:
        body = f"{_sources(steps[:-1])}\nwith pytest.raises({error}):\n    {last}"
        yield _Idea(rank=3, method="expected_error", body=body, quote=block.text, needs=("pytest",))


# --- ideas from sentences -----------------------------------------------------------------------------------


def _call(code: str) -> str | None:
    """Return the source of an expression that calls something; None for other code."""
    try:
        node = ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    plain = all(not isinstance(each, ast.Constant) or each.value is not ... for each in ast.walk(node))
    calls = any(isinstance(each, ast.Call) for each in ast.walk(node))
    return ast.unparse(node) if plain and calls else None


def _of_span(span: Span, issue: IssueText) -> Iterator[_Idea]:
    call = _call(span.code)
    if call is None:
        return
    quote = span.sentence
    rest = span.sentence[span.start + len(span.code) + 2 :]
    shown = [other.code for other in issue.spans if other.sentence == quote and other.start > span.start]
    bare = _BARE.findall(re.sub(r"`[^`]*`", "", rest))
    wanted = bool(_EXPECTS.search(quote))
    for text in dict.fromkeys([*shown, *bare]):
        for value in _values(text):
            body = f"result = {call}\nassert result == {value!a}"
            rank = 0 if wanted else 2
            yield _Idea(rank=rank, method="expected_value", body=body, quote=quote)
    if re.search(r"\b(?:raise|throw|fail|crash|error|exception|should work)", quote, re.IGNORECASE):
        yield _Idea(rank=3, method="issue_code", body=call, quote=quote)
    for error in _WANTS_ERROR.findall(quote):
        body = f"with pytest.raises({error}):\n    {call}"
        yield _Idea(rank=1, method="expected_error", body=body, quote=quote, needs=("pytest",))


def _values(text: str) -> Iterator[object]:
    """Yield what a text within a sentence may stand for: the value of a literal, else itself."""
    try:
        yield ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        if "(" not in text:
            yield text


# --- files --------------------------------------------------------------------------------------------------


def _file(idea: _Idea, names: Names) -> str | None:
    """Return a test module; None where code isn't whole, or a name of it comes from nowhere."""
    try:
        tree = ast.parse(idea.body.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = missing_imports("\n".join(f"import {need}" for need in idea.needs) + f"\n{idea.body}", names)
    if lines is None or not tree.body:
        return None
    moved = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    kept = [node for node in tree.body if node not in moved]
    if any(isinstance(node, ast.ImportFrom) and node.level for node in moved) or not kept:
        return None
    lines += [f"import {need}" for need in idea.needs] + [ast.unparse(node) for node in moved]
    body = "\n".join("    " + line for node in kept for line in ast.unparse(node).splitlines())
    imports = "\n".join(dict.fromkeys(sorted(lines, key=lambda line: (line.startswith("from"), line))))
    return f"{imports}\n\n\ndef test_what_the_issue_shows():\n{body}\n".lstrip()
