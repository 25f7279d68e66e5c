"""The blind cheats: a recipe does what it says, or fails loudly."""

from pathlib import Path

import pytest

from benchmarks.blind_cheats import RECIPES, SPARE, Cheat, patch_of, read_cheats
from benchmarks.blind_edits import OPERATIONS
from swequarry.errors import ConfigError
from tests.git_building import git

BEFORE = "import os\n\n\ndef twice(n):\n    return n + n\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
GOLD = (
    "diff --git a/toy.py b/toy.py\n--- a/toy.py\n+++ b/toy.py\n@@ -3,4 +3,4 @@\n"
    " \n def twice(n):\n-    return n + n\n+    return 2 * n\n \n"
)


@pytest.fixture
def row(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "acme+toy"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "toy.py").write_text(BEFORE, encoding="utf-8")
    git(folder, "add", "toy.py")
    git(folder, "commit", "--quiet", "-m", "one")
    commit = git(folder, "rev-parse", "HEAD").decode().strip()
    return {
        "repo": "acme/toy",
        "base_commit": commit,
        "patch": GOLD,
        "mirror": str(tmp_path / "{owner}+{name}"),
    }


def made(row: dict[str, str], *edits: dict[str, object], base: str = "none") -> str:
    cheat = Cheat(name="a", instance_id="toy-1", kind="stub", base=base, edits=edits)
    return patch_of(cheat, row, row["mirror"]).decode()


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        (
            {"op": "replace", "path": "toy.py", "anchor": "return n + n", "text": "    return 4\n"},
            "+    return 4",
        ),
        (
            {"op": "insert_after", "path": "toy.py", "anchor": "import os", "text": "import sys\n"},
            "+import sys",
        ),
        ({"op": "delete_function", "path": "toy.py", "function": "test_twice"}, "-    assert twice(2) == 4"),
        ({"op": "body", "path": "toy.py", "function": "twice", "text": "    return 0\n"}, "+    return 0"),
        (
            {
                "op": "delete_lines",
                "path": "toy.py",
                "from": "def test_twice():",
                "to": "assert twice(2) == 4",
            },
            "-def test",
        ),
        ({"op": "substitute", "files": "*.py", "pattern": "twice", "text": "double"}, "+def double(n):"),
        ({"op": "append", "path": "toy.py", "text": "x = 1\n"}, "+x = 1"),
        ({"op": "write", "path": "a.bin", "base64": "AAE="}, "GIT binary patch"),
        ({"op": "delete", "path": "toy.py"}, "deleted file mode"),
        ({"op": "symlink", "path": "link.py", "target": "toy.py"}, "new file mode 120000"),
    ],
)
def test_operation_changes_what_it_names(row: dict[str, str], edit: dict[str, object], wanted: str) -> None:
    assert wanted in made(row, edit)


def test_trick_rides_on_the_fix(row: dict[str, str]) -> None:
    patch = made(row, {"op": "delete_function", "path": "toy.py", "function": "test_twice"}, base="gold")
    assert "+    return 2 * n" in patch
    assert "-def test_twice():" in patch


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "replace", "path": "toy.py", "anchor": "return n * n", "text": "    return 4\n"},
        {"op": "replace", "path": "toy.py", "anchor": "", "text": "x\n"},
        {"op": "append", "path": "absent.py", "text": "x = 1\n"},
        {"op": "substitute", "files": "*.py", "pattern": "thrice", "text": "x"},
        {"op": "body", "path": "toy.py", "function": "thrice", "text": "    return 0\n"},
        {"op": "replace", "path": "toy.py", "anchor": "import os", "text": "import os\n"},
    ],
)
def test_recipe_that_no_longer_fits_fails(row: dict[str, str], edit: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"^a: "):
        made(row, edit)


def test_fixture_is_whole() -> None:
    cheats = read_cheats(RECIPES)
    assert len(cheats) == 150
    assert len({cheat.instance_id for cheat in cheats}) >= 40
    assert {edit["op"] for cheat in cheats for edit in cheat.edits} <= set(OPERATIONS)
    assert not {cheat.name for cheat in cheats} & {cheat.name for cheat in read_cheats(SPARE)}
