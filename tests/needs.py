"""What a machine may lack: a test that needs it is skipped there, and fails where CI promises it."""

import os

import pytest


def required(what: str) -> bool:
    return what in os.environ.get("SWEQUARRY_REQUIRE", "").split(",")


def skip_or_fail(what: str, reason: str) -> None:
    if required(what):
        pytest.fail(reason)
    pytest.skip(reason)
