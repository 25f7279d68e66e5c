"""Stage `seal`: the whole world of a verified candidate is searched for its answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from reconstruct.leaks.answer import Answer, Novelty, read_answer
from reconstruct.leaks.images import scan_image
from reconstruct.leaks.places import package_paths, task_names
from reconstruct.leaks.scan import CHECKS, SCANNER, BaseTree, Scanned, WorldScan
from swequarry.config import meaning_of
from swequarry.errors import SandboxError
from swequarry.git.paths import path_text
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Outcome, RejectCode, Rejected
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.house import House, stored
from swequarry.records import Candidate, ContentHash, Environment, Seal, Snapshot
from swequarry.sandbox.bubblewrap_store import WorldStore
from swequarry.sandbox.docker_backend import DockerBackend
from swequarry.sandbox.settled import BASE_ENVIRONMENT
from swequarry.sandbox.visible import VisibleWorld


@dataclass(frozen=True, slots=True, kw_only=True)
class SealInput:
    """A candidate in its world."""

    candidate: Candidate
    snapshot: Snapshot
    environment: Environment


@dataclass(frozen=True, slots=True)
class SealStage:
    """Rejects a candidate whose answer can be had from its world, with the place."""

    house: House
    name: ClassVar[str] = "seal"
    version: ClassVar[int] = SCANNER

    @property
    def settings_hash(self) -> ContentHash:
        """The backend: what is visible inside is its doing."""
        return meaning_of(self.house.settings.sandbox.backend)

    def run(self, item: StageItem[SealInput], context: StageContext) -> Sequence[StoredOutcome]:
        """Return the seal, or LEAK with every place."""
        known = item.value
        answer, base = answer_of(self.house, known.candidate, known.environment)
        scanned = scan_world(self.house, known, answer, base)
        context.observe(files=scanned.files, size_bytes=scanned.size_bytes, from_index=scanned.from_index)
        return [stored(item.key, judge(make_seal(known, answer, scanned)))]


def answer_of(house: House, candidate: Candidate, environment: Environment) -> tuple[Answer, BaseTree]:
    """Return what only the answer of a candidate has, and what its base is known to have.

    Raises:
        GitError: the base can't be read.
        PatchError: a stored patch can't be parsed.
    """
    get, repo = house.workspace.blobs.get, candidate.repo
    patches = (("gold", get(candidate.gold_patch)), ("tests", get(candidate.test_patch)))
    names = task_names(candidate.instance_id, repo.full_name, candidate.pull_number)
    novelty = Novelty(read_answer(patches, names=names))
    repository = house.repository(repo)
    entries = [entry for entry in repository.list_tree(candidate.base_tree) if entry.kind == "blob"]
    for data in repository.read_all(sorted({entry.sha for entry in entries})):
        novelty.see(data)  # what a partial mirror lacks can't be in the world either
    files = frozenset(path_text(entry.path) for entry in entries)
    return novelty.rest(), BaseTree(
        blobs=frozenset(entry.sha for entry in entries),
        files=files,
        modules=package_paths(candidate.gold_files, files),
        project=environment.recipe.project_name,
        version=environment.project_version,
    )


def scan_world(house: House, known: SealInput, answer: Answer, base: BaseTree) -> Scanned:
    """Search the world of a candidate.

    Raises:
        SandboxError: the world isn't stored, and can't be made again.
    """
    world = environment_world(house, known.candidate, known.snapshot, known.environment)
    backend = house.backend
    if isinstance(backend, DockerBackend):
        stored_image = backend.store.find(world.key)
        if stored_image is None or stored_image.image is None:
            raise SandboxError(f"no world {world.key!r} is stored in docker; run the same command again")
        starts_from = backend.bases.image_for(stored_image.interpreter)[0]
        return scan_image(backend.engine, stored_image.image, answer, base, starts_from)
    store = WorldStore(house.workspace.worlds / "bubblewrap")
    variables = {**BASE_ENVIRONMENT, **dict(known.environment.recipe.variables)}
    scan = WorldScan(VisibleWorld(store, world.key), answer, base, house.workspace.leaks)
    return scan.run({f"variable {name}": value for name, value in variables.items()})


def make_seal(known: SealInput, answer: Answer, scanned: Scanned) -> Seal:
    """Return what was checked and found, as a record."""
    return Seal(
        scanner=SCANNER,
        snapshot=known.snapshot.content_hash(),
        environment=known.environment.content_hash(),
        checks=(*(f"closure audit: {check}" for check in known.snapshot.audit.checks), *CHECKS),
        lines=sum(map(len, answer.lines.values())),
        words=sum(map(len, answer.words.values())),
        blocks=len(answer.blocks),
        findings=tuple(scanned.findings),
        not_scanned=tuple(scanned.not_scanned),
    )


def judge(seal: Seal) -> Outcome[Seal]:
    """Reject a world in which something was found."""
    if not seal.findings:
        return Accepted(value=seal)
    first = seal.findings[0]
    return Rejected(
        code=RejectCode.LEAK,
        message=f"the answer can be had from {first.path} inside the world",
        evidence=tuple(str(finding) for finding in seal.findings),
    )
