"""Read code as people paste it: scripts with outputs in comments, sessions of Python and IPython, prompts."""

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_PROMPT = re.compile(r"^(?:>>> ?|\.\.\. ?|In ?\[\d+\]: ?|   \.{2,}: ?)")
_MORE = re.compile(r"^(?:\.\.\.(?: |$)|   \.{2,}: ?)")
_OUT = re.compile(r"^Out ?\[\d+\]: ?")
_PRINTS = frozenset({"print", "pprint", "pp", "pprint.pprint", "display"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement of a snippet, and the output that is shown for it (empty where none is).

    `value` is the expression whose value the output shows, None where the statement has none. `printed` says
    that it's shown as `print` does.
    """

    source: str
    output: str = ""
    value: str | None = None
    printed: bool = False


def read_snippet(text: str) -> tuple[Step, ...]:
    """Return the steps of a piece of code; none where it isn't Python, or isn't any more."""
    text = textwrap.dedent(text.expandtabs(4))
    found = _session(text) if _is_session(text) else _script(text)
    return tuple(found)


def _is_session(text: str) -> bool:
    return any(re.match(r"(?:>>>|In ?\[\d+\]:)", line) for line in text.splitlines())


def _session(text: str) -> Iterator[Step]:
    entries: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        prompt = _PROMPT.match(line)
        if prompt and (_MORE.match(line) and entries):
            entries[-1][0].append(line[prompt.end() :])
        elif prompt:
            entries.append(([line[prompt.end() :]], []))
        elif entries:
            entries[-1][1].append(_OUT.sub("", line))
    for source, output in entries:
        steps = list(_script("\n".join(source)))
        yield from steps[:-1]
        for step in steps[-1:]:
            shown = "\n".join(output).strip()
            yield Step(
                source=step.source, value=step.value, printed=step.printed, output=shown or step.output
            )


def _script(text: str) -> Iterator[Step]:
    tree = _parsed(text)
    if tree is None:
        return
    comments = _comments(text)
    body = list(_flat(tree.body))
    for number, node in enumerate(body):
        following = body[number + 1].lineno if number + 1 < len(body) else len(text.splitlines()) + 1
        last = node.end_lineno or node.lineno
        said = [comments[line] for line in range(last, following) if line in comments]
        value, printed = _value(node)
        output = "\n".join(said).strip() if value is not None else ""
        yield Step(source=ast.unparse(node), value=value, printed=printed, output=output)


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those below `if __name__ == "__main__"` in its place."""
    for node in body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            yield from node.body
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        else:
            yield node


def _parsed(text: str) -> ast.Module | None:
    """Return the tree of a text, or of its first lines up to what isn't Python."""
    lines = text.splitlines()
    while lines:
        try:
            return ast.parse("\n".join(lines))
        except SyntaxError as error:
            cut = min((error.lineno or 1) - 1, len(lines) - 1)
            lines = lines[: max(cut, 0)]
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _comments(text: str) -> dict[int, str]:
    found: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = token.string.lstrip("# ").rstrip()
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def _value(node: ast.stmt) -> tuple[str | None, bool]:
    """Return the expression of which a statement shows the value, and whether it prints it."""
    if not isinstance(node, ast.Expr):
        return None, False
    call = node.value
    if isinstance(call, ast.Call) and ast.unparse(call.func) in _PRINTS:
        plain = len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)
        return (ast.unparse(call.args[0]), "pp" not in ast.unparse(call.func)) if plain else (None, False)
    return ast.unparse(call), False
