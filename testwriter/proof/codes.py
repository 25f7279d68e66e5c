"""The reasons for which a proposed test is refused, and those for which it is admitted."""

from enum import StrEnum


class Refusal(StrEnum):
    """Why a proposed test doesn't enter: a code per rule."""

    BAD_PATH = "bad_path"
    NOT_PYTHON = "not_python"
    NO_TEST = "no_test"
    DYNAMIC_CODE = "dynamic_code"
    SKIPS = "skips"
    CHANCE = "chance"
    CLOCK = "clock"
    NETWORK = "network"
    PROCESS = "process"
    READS_SOURCE = "reads_source"
    TOUCHES_FILES = "touches_files"
    UNKNOWN_NAME = "unknown_name"
    PASSES_BEFORE = "passes_before"
    BROKEN_BEFORE = "broken_before"
    FOREIGN_REASON = "foreign_reason"
    FAILS_AFTER = "fails_after"
    UNSTABLE = "unstable"
    ADDS_NOTHING = "adds_nothing"


class Worth(StrEnum):
    """What a proven test is good for."""

    KILLS_WRONG_FIX = "kills_wrong_fix"
    COVERS_CHANGED_LINE = "covers_changed_line"
    ONLY_TEST = "only_test"


MEANINGS: dict[Refusal, str] = {
    Refusal.BAD_PATH: "its path is taken, leaves the checkout, or isn't that of a test module",
    Refusal.NOT_PYTHON: "the text isn't Python",
    Refusal.NO_TEST: "it defines no test that is run",
    Refusal.DYNAMIC_CODE: "it makes code or names at run time, or reaches into the interpreter",
    Refusal.SKIPS: "it may skip itself, or expects to fail",
    Refusal.CHANCE: "it draws random values",
    Refusal.CLOCK: "it reads the clock, waits, or does otherwise at another date",
    Refusal.NETWORK: "it asks for a network",
    Refusal.PROCESS: "it starts a process or thread, which nobody can watch",
    Refusal.READS_SOURCE: "it reads source code, patches or the repository",
    Refusal.TOUCHES_FILES: "it writes outside its temporary folder",
    Refusal.UNKNOWN_NAME: "it uses a name that neither the base, the statement nor the interface block has",
    Refusal.PASSES_BEFORE: "it passes before the fix",
    Refusal.BROKEN_BEFORE: "before the fix it can't be imported, collected or set up",
    Refusal.FOREIGN_REASON: "before the fix it fails for a reason that the issue doesn't name",
    Refusal.FAILS_AFTER: "it doesn't pass after the fix",
    Refusal.UNSTABLE: "its outcome differs between runs",
    Refusal.ADDS_NOTHING: "it rejects no wrong fix and runs no changed line that other tests don't",
}
"""One line on each, for tables and documents."""
