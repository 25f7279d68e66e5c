"""Keeps one bad pull request or row from ending the others: what it raises becomes its own outcome."""

from collections.abc import Callable

from swequarry.errors import GitError, ObjectMissingError, RepositoryError, StorageError
from swequarry.outcome import Boundary, Failed, Outcome, RejectCode, Rejected
from swequarry.records import Candidate


def git_outcome(error: GitError) -> Rejected | Failed:
    """Say what a git error means for an item: absent objects reject it, anything else failed on it."""
    if isinstance(error, ObjectMissingError):
        return Rejected(code=RejectCode.MISSING_OBJECTS, message=str(error))
    evidence = (error.stderr[-2000:],) if error.stderr else ()
    return Failed(boundary=Boundary.GIT, message=str(error), evidence=evidence)


def guarded(decide: Callable[[], Outcome[Candidate]]) -> Outcome[Candidate]:
    """Return what `decide` returns, or the failure that its exception stands for.

    Raises:
        StorageError: storing broke, which concerns all items.
    """
    try:
        return decide()
    except StorageError:
        raise
    except GitError as error:
        return git_outcome(error)
    except RepositoryError as error:
        return Failed(boundary=Boundary.GIT, message=str(error))
    except Exception as error:  # noqa: BLE001 - a fault in our rules must not cost the other items
        return Failed(boundary=Boundary.INTERNAL, message=f"{type(error).__name__}: {error}")
