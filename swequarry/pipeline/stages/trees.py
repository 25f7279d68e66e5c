"""Trees of candidates on the host: scratch folders, what a tree says, and files that the mirror lacks."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reconstruct.absent_files import recover
from reconstruct.environment.facts import ProjectFacts, collect_facts
from swequarry.git.paths import path_text
from swequarry.git.repository import Repository
from swequarry.git.store import list_files
from swequarry.git.testpaths import is_test_module
from swequarry.git.trees import TreeWorkbench
from swequarry.pipeline.stages.house import House
from swequarry.records import Candidate

_STANDING = 5


@contextmanager
def scratch_folder(house: House) -> Iterator[Path]:
    """Yield a folder beside the worlds that is removed at the end."""
    parent = house.workspace.cache / "scratch"
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="tree-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def facts_of(house: House, candidate: Candidate) -> ProjectFacts:
    """Return what the tree at the base commit says about its environment."""
    with scratch_folder(house) as folder, TreeWorkbench(house.repository(candidate.repo)) as workbench:
        tree = folder / "tree"
        workbench.materialise(candidate.base_tree, tree, partial=True)
        return collect_facts(tree)


def standing_tests(house: House, candidate: Candidate) -> tuple[str, ...]:
    """Return a few test modules of the base, nearest to its root: they tell whether tests run at all."""
    with TreeWorkbench(house.repository(candidate.repo)) as workbench:
        paths = [entry.path for entry in list_files(workbench.place, candidate.base_tree)]
    own = [path for path in paths if is_test_module(path) and path.isascii()]
    return tuple(path.decode() for path in sorted(own, key=lambda path: (path.count(b"/"), path))[:_STANDING])


def complete_base(house: House, candidate: Candidate) -> Repository:
    """Return the candidate's repository after a search for files that its base tree lacks.

    Raises:
        IndexUnavailableError: files are absent, and the index that may have them can't be reached.
    """
    repository = house.repository(candidate.repo)
    absent = repository.missing_blobs(candidate.base_tree)
    if absent and house.locator.complete(repository, [entry.sha for entry in absent]):
        absent = repository.missing_blobs(candidate.base_tree)
    name = facts_of(house, candidate).name if absent else None
    if name is None:
        return repository
    supplement = house.supplement(candidate.repo)
    wanted = {entry.sha: path_text(entry.path) for entry in absent}
    recover(wanted, name, candidate.cutoff, house.index, supplement.add)
    return supplement.complete()
