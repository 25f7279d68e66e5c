"""Sources whose set-up code imports what isn't declared: which are meant, and in what order they come."""

from collections.abc import Sequence

from reconstruct.environment.locks import LockedPackage
from reconstruct.environment.undeclared import asked_for, built_beside, installed_in_two, undeclared
from swequarry.sandbox.contract import EndedBy, ExecResult

LOG = b"""  x Failed to build `Old_Thing==1.2.1`
  |-> The build backend returned an error
      File "<string>", line 14, in <module>
      ModuleNotFoundError: No module named 'numpy'
"""
OK = ExecResult(exit_code=0, ended_by=EndedBy.EXITED, output=b"", report=b"")
A, B = (LockedPackage(name=name, version="1", hashes=()) for name in ("a", "b"))


def failed(output: bytes) -> ExecResult:
    return ExecResult(exit_code=1, ended_by=EndedBy.EXITED, output=output, report=b"")


def test_distribution_and_what_it_wants_are_read_from_the_log() -> None:
    assert (undeclared(LOG), asked_for(LOG)) == ("old-thing", ("numpy",))
    assert asked_for(LOG.replace(b"numpy", b"nobody_knows_this_module")) == ()


def test_failure_for_another_reason_is_none_of_this_kind() -> None:
    assert undeclared(LOG.replace(b"ModuleNotFoundError: No module named", b"error:")) is None
    assert (
        undeclared(b"ModuleNotFoundError: No module named 'numpy'\nFailed to build `x @ file:///x`") is None
    )


def test_one_that_fails_beside_the_environment_too_ends_it() -> None:
    tried: list[tuple[str, ...]] = []
    wanted: list[tuple[str, ...]] = []

    def attempt(options: tuple[str, ...]) -> ExecResult:
        tried.append(options)
        return failed(LOG)

    assert not built_beside(attempt, wanted.append).ok
    assert tried == [(), ("--no-build-isolation-package", "old-thing")]
    assert wanted == [("numpy",)]


def test_those_that_need_others_are_installed_after_all_others() -> None:
    tried: list[tuple[list[str], tuple[str, ...]]] = []

    def attempt(chosen: Sequence[LockedPackage], options: tuple[str, ...]) -> ExecResult:
        names = [package.name for package in chosen]
        tried.append((names, options))
        return failed(LOG.replace(b"Old_Thing", b"A")) if "a" in names and not options else OK

    assert installed_in_two([A, B], attempt).ok
    assert tried == [(["a", "b"], ()), (["b"], ()), (["a"], ("--no-build-isolation-package", "a"))]
