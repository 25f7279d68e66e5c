"""Prompts: files beside the code, each with a name, a version and the hash of its bytes.

A file begins with its version and has a part for each role. The parts are told apart before anything is
filled in, and what is filled in is never a template: no text of an issue can become an instruction, a role
or a template. Such texts stand between marks that hold their own hash, which no text can name.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined

from swequarry.records import ContentHash, sha256_hex
from testwriter.model.exchange import Message, PromptName

FOLDER: Final = Path(__file__).resolve().parent.parent / "prompts"
_HEAD = re.compile(r"version: (\d+)\n=== (system|user) ===\n")
_PART = re.compile(r"^=== (system|user) ===\n", re.MULTILINE)


def marked(text: str, label: str) -> str:
    """Return a text of somebody else's between marks that it can't hold itself."""
    text = text.replace("\r\n", "\n").strip("\n").encode("utf-8", "replace").decode()
    tag = f"{label} {sha256_hex(text.encode())[:16]}"
    return f"<<<{tag}\n{text}\n{tag}>>>"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as its file has it; `parts` are pairs (role, template)."""

    name: PromptName
    parts: tuple[tuple[Any, str], ...]

    def filled(self, **values: object) -> tuple[Message, ...]:
        """Return the messages.

        Raises:
            jinja2.UndefinedError: a value that the prompt wants isn't given.
        """
        environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
        environment.filters["marked"] = marked
        return tuple(
            Message(role, environment.from_string(template).render(**values).strip())
            for role, template in self.parts
        )


@cache
def load_prompt(name: str) -> Prompt:
    """Return a prompt by its name.

    Raises:
        ValueError: the file doesn't begin as prompts do.
    """
    data = (FOLDER / f"{name}.md").read_bytes()
    source = data.decode()
    head = _HEAD.match(source)
    if head is None:
        raise ValueError(f"prompt {name} begins with a version and a role")
    pieces = _PART.split(source[head.start(2) - len("=== ") :])[1:]
    named = PromptName(name=name, version=int(head.group(1)), sha256=ContentHash(sha256_hex(data)))
    return Prompt(name=named, parts=tuple(zip(pieces[::2], pieces[1::2], strict=True)))


def prompt_names() -> tuple[str, ...]:
    """Return the names of all prompts."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.md")))
