"""Tests by a language model: a reproduction from the issue alone, and tests against wrong fixes that survive.

What the model writes is a proposal like any other. The loop that lets it repair what was refused is bounded,
and what a repair was told of the fix makes its test a hidden one.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from swequarry.config import LlmSettings
from swequarry.records import sha256_hex
from testwriter.interface import Proof, Proposal, Prove, Subject, Survivor
from testwriter.model.answers import SAID, Fault, read_test_file
from testwriter.model.asking import Asker
from testwriter.model.excerpts import around, example_test, excerpts
from testwriter.model.exchange import Message
from testwriter.model.prompts import Prompt, load_prompt
from testwriter.model.splitting import one_test_each
from testwriter.subjects import new_path

REPRODUCTION, SURVIVOR = "model:reproduction", "model:survivor"
_OUTPUT_TAIL = 3_000
_ISSUE_SHARE = 2
"""The issue and the patches may each take as many characters as the excerpts, over this."""


@dataclass(slots=True, kw_only=True)
class ModelWriter:
    """Asks one model for tests of one task; `said` is what came of each answer that gave no proposal."""

    asker: Asker
    settings: LlmSettings
    said: list[str] = field(default_factory=list)

    def propose(self, subject: Subject, prove: Prove) -> Iterator[Proposal]:
        """Yield what the model writes, refused tries among it; see `Writer`.

        Raises:
            ModelUnavailableError: the server gives no answers, so nothing is known of what it would write.
        """
        yield from self._reproduction(subject, prove)
        killed: set[str] = set()
        for survivor in subject.survivors[: self.settings.survivors] if subject.sees_gold else ():
            if survivor.diff not in killed:
                proof = yield from self._survivor(subject, survivor, prove)
                killed.update(proof.kills if proof is not None else ())

    def _reproduction(self, subject: Subject, prove: Prove) -> Iterator[Proposal]:
        shown = excerpts(subject, self.settings.context_chars)
        task = _Task(subject, REPRODUCTION, load_prompt("reproduction"), (subject.instance_id,))
        messages = task.prompt.filled(
            framework=subject.framework,
            sources=shown,
            example=example_test(subject, (), _stem(shown[0][0]) if shown else ""),
            issue=self._issue(subject),
        )
        yield from self._loop(task, messages, prove)

    def _survivor(
        self, subject: Subject, survivor: Survivor, prove: Prove
    ) -> Generator[Proposal, None, Proof | None]:
        data = subject.after(survivor.path) if subject.after is not None else None
        task = _Task(subject, SURVIVOR, load_prompt("survivor"), (f"wrong fix {survivor.diff}",))
        messages = task.prompt.filled(
            framework=subject.framework,
            names=", ".join(sorted(subject.interface_names)),
            issue=self._issue(subject),
            gold=self._cut(subject.gold_patch or ""),
            sources=[around(survivor.path, data, survivor.line)] if data else [],
            example=example_test(subject, subject.upstream_tests or (), _stem(survivor.path)),
            wrong=self._cut(survivor.patch),
            place=f"{survivor.path}:{survivor.line}" if survivor.line else survivor.path,
        )
        return (yield from self._loop(task, messages, prove))

    def _loop(
        self, task: "_Task", messages: tuple[Message, ...], prove: Prove
    ) -> Generator[Proposal, None, Proof | None]:
        """Ask, prove, and let the model repair, until a test is admitted or the tries are used up.

        Returns the proof of the one that was admitted.
        """
        prompt, conversation = task.prompt, messages
        written: set[str] = set()
        for tries in range(self.settings.repairs + 1):
            answer = self.asker.ask(prompt.name, conversation)
            if answer is None or answer.refused:
                self.said.append(f"{task.method}: {'no budget is left' if answer is None else 'refused'}")
                return None
            found = read_test_file(answer.text, cut_off=answer.cut_off)
            if isinstance(found, Fault):
                self.said.append(f"{task.method}: {found.value}")
                told = {"fault": SAID[found], "reasons": "", "output": ""}
            elif found in written:
                self.said.append(f"{task.method}: it repeats itself")
                return None
            else:
                written.add(found)
                proof = yield from self._tried(task, found, prove, repaired=tries > 0)
                if proof.admitted:
                    return proof
                output = proof.output[-_OUTPUT_TAIL:]
                told = {"fault": "", "reasons": ", ".join(proof.reasons), "output": output}
            prompt = load_prompt("repair")
            last = Message("assistant", answer.text[-self.settings.context_chars :])
            conversation = (*messages, last, *prompt.filled(**told))
        return None

    def _tried(
        self, task: "_Task", source: str, prove: Prove, *, repaired: bool
    ) -> Generator[Proposal, None, Proof]:
        """Propose a file, and where it is refused each of its tests alone; return the proof to go on with."""
        whole = self._proposal(task, source, repaired=repaired)
        first = prove(whole)
        yield whole
        if first.admitted:
            return first
        for part in one_test_each(source):
            alone = self._proposal(task, part, repaired=repaired)
            proof = prove(alone)
            yield alone
            if proof.admitted:
                return proof
        return first

    def _proposal(self, task: "_Task", source: str, *, repaired: bool) -> Proposal:
        stem = f"{task.method.partition(':')[2]}_{sha256_hex(source.encode())[:12]}"
        said = [f"exchange {name}" for name in self.asker.tally.exchanges[-1:]]
        return Proposal(
            path=new_path(task.subject, stem),
            text=source,
            origin="generated",
            method=task.method,
            evidence=(*task.evidence, f"model {self.asker.parameters.model}", *said),
            public=task.method == REPRODUCTION and not repaired,
        )

    def _issue(self, subject: Subject) -> str:
        return self._cut(f"{subject.title}\n\n{subject.statement}".strip())

    def _cut(self, text: str) -> str:
        most = self.settings.context_chars // _ISSUE_SHARE
        return text if len(text) <= most else text[:most] + "\n[cut]"


@dataclass(frozen=True, slots=True)
class _Task:
    subject: Subject
    method: str
    prompt: Prompt
    evidence: tuple[str, ...]


def _stem(path: str) -> str:
    """Return what the tests of a file are likely named after."""
    plain = PurePosixPath(path)
    return plain.parent.name if plain.name == "__init__.py" else plain.stem
