"""Makes the helper modules of this folder importable from every test folder, and skips loud.

Where SWEQUARRY_REQUIRE is set, as in CI, the only tests that may be skipped are those that need the data
folder (marker `data`): any other skip fails the run.
"""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same whatever the machine is busy with: on a shared one an example may take seconds, which says nothing
# about the code under test. Tests that need other settings change these and inherit the rest.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")

_skipped: list[str] = []
_not_collected: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and "data" not in report.keywords:
        _skipped.append(f"{report.nodeid}: {report.longrepr}")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(f"{report.nodeid}: {report.longrepr}")
        _not_collected.append(_skipped[-1])


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """Let a worker of xdist send what isn't Unicode: lone surrogates in a captured log would end the run."""
    return _sendable((yield))


def _sendable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {key: _sendable(one) for key, one in value.items()}
        case list() | tuple():
            return type(value)(_sendable(one) for one in value)
        case _:
            return value


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Take what a worker of xdist didn't collect: it sends the reports of its tests, not these."""
    _skipped.extend(getattr(node, "workeroutput", {}).get("not_collected", ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["not_collected"] = _not_collected
    if _skipped and os.environ.get("SWEQUARRY_REQUIRE"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skipped and os.environ.get("SWEQUARRY_REQUIRE"):
        terminalreporter.section("skipped though SWEQUARRY_REQUIRE is set")
        for line in _skipped:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def postgres() -> Iterator[object]:
    """Run a Postgres server of its own for this process's tests, started when it is first asked for."""
    from postgres_server import PostgresServer

    server = PostgresServer.make()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ledger_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger may be made: a path, or the URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return str(request.getfixturevalue("postgres").database())
