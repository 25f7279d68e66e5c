"""The example repository as a `git fast-import` stream: the same bytes, so the same hashes, everywhere."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from swequarry.pipeline.demo.story import START, Edits, Pull
from swequarry.records import MergeKind

FIRST_DAY = datetime(2024, 3, 4, 9, 0, tzinfo=UTC)
PERSON = b"Tally Author <author@tally.example>"


@dataclass(slots=True)
class _Writer:
    """Collects the stream and hands out marks; `tip` is the newest commit of main."""

    lines: list[bytes] = field(default_factory=list)
    mark: int = 0
    clock: datetime = FIRST_DAY
    tip: int = 0
    written: dict[int, datetime] = field(default_factory=dict)

    def commit(
        self, ref: str, message: str, edits: Edits, parents: tuple[int, ...], *, copy_of: int | None = None
    ) -> int:
        """Write one commit on top of its first parent's tree and return its mark.

        A rebased commit is a `copy_of` another one and keeps its author's time.
        """
        self.mark += 1
        self.clock += timedelta(minutes=7)
        self.written[self.mark] = self.clock if copy_of is None else self.written[copy_of]
        text = message.encode()
        self.lines += [
            b"commit %s" % ref.encode(),
            b"mark :%d" % self.mark,
            b"author %s %d +0000" % (PERSON, int(self.written[self.mark].timestamp())),
            b"committer %s %d +0000" % (PERSON, int(self.clock.timestamp())),
            b"data %d" % len(text),
            text,
        ]
        links = (b"from", *[b"merge"] * (len(parents) - 1))
        self.lines += [
            b"%s :%d" % (word, parent) for word, parent in zip(links, parents, strict=bool(parents))
        ]
        self.lines += [line for path in sorted(edits) for line in _file(path, edits[path])]
        self.lines.append(b"")
        return self.mark

    def on_main(self, message: str, edits: Edits, *merged: int, copy_of: int | None = None) -> None:
        """Write one commit on main."""
        parents = (self.tip, *merged) if self.tip else ()
        self.tip = self.commit("refs/heads/main", message, edits, parents, copy_of=copy_of)


def _file(path: str, data: bytes | None) -> Iterator[bytes]:
    name = path.encode()
    quoted = b'"' + b"".join(b"\\%03o" % byte if byte > 126 else bytes([byte]) for byte in name) + b'"'  # noqa: PLR2004
    if data is None:
        yield b"D %s" % quoted
        return
    yield b"M 100644 inline %s" % quoted
    yield b"data %d" % len(data)
    yield data


def _messages(pull: Pull) -> tuple[str, ...]:
    return pull.messages or (pull.title, *("more" for _ in pull.edits[1:]))


def _merge(writer: _Writer, pull: Pull, commits: list[int], landed: dict[int, str]) -> None:
    edits = {path: data for step in pull.edits for path, data in step.items()}
    body = pull.body
    if pull.reverts is not None:
        body = f"This reverts commit {landed[pull.reverts]}."
    text = f"{pull.title} (#{pull.number})" + (f"\n\n{body}" if body else "")
    if pull.kind is MergeKind.MERGE:
        subject = f"Merge pull request #{pull.number} from tally/pull-{pull.number}"
        writer.on_main(f"{subject}\n\n{pull.title}" + (f"\n\n{body}" if body else ""), edits, commits[-1])
    elif pull.kind is MergeKind.SQUASH:
        writer.on_main(text, edits)
    else:
        for message, step, copied in zip(_messages(pull), pull.edits, commits, strict=True):
            writer.on_main(message, step, copy_of=copied)


def write_stream(pulls: tuple[Pull, ...], landed: dict[int, str]) -> bytes:
    """Return the stream for some pull requests.

    Before each one main gets a commit of its own, so that the pull request's fork point isn't its base
    commit. `landed` names the commit of each pull request that a later one reverts.
    """
    writer = _Writer()
    writer.on_main("Start", START)
    for pull in pulls:
        fork = writer.tip
        writer.on_main("Write the diary", {"DIARY.md": b"Before pull request %d.\n" % pull.number})
        ref = f"refs/pull/{pull.number}/head"
        commits = [fork]
        for message, step in zip(_messages(pull), pull.edits, strict=True):
            commits.append(writer.commit(ref, message, step, (commits[-1],)))
        _merge(writer, pull, commits[1:], landed)
    return b"\n".join(writer.lines) + b"\n"
