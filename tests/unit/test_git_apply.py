import pytest
from git_building import START, Upstream, make_upstream

from swequarry.errors import BinaryWithoutDataError, GitError, ObjectMissingError, PatchError
from swequarry.git.patches import parse_patch
from swequarry.git.paths import entries_below
from swequarry.git.trees import TreeWorkbench

PNG = b"\x00\x01\x00" * 50
PNG2 = b"\x00\x02\x00" * 50


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    return make_upstream(tmp_path)


@pytest.fixture
def workbench(upstream):
    with TreeWorkbench(upstream.repository) as opened:
        yield opened


def store_of(upstream: Upstream) -> list[bytes]:
    return sorted(name for name, _ in entries_below(upstream.path))


# --- apply -------------------------------------------------------------------------------------------


def test_half_of_a_patch_is_never_applied(upstream, workbench):
    base = upstream.tree({b"a.py": b"1\n", b"b.py": b"1\n"})
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-other\n+2\n"
    with pytest.raises(PatchError, match=r"b\.py"):
        workbench.apply(base, patch)
    assert workbench.changes(base, workbench.apply(base, b"")) == ()


@pytest.mark.parametrize(
    "content",
    [b"\tx = 1\n", b"    x = 1 \n", b"    x = 1\r\n", b"    x  = 1\n", b"    x = 1"],
    ids=["tab", "trailing blank", "CRLF", "inner blank", "no newline"],
)
def test_context_that_differs_in_white_space_only_does_not_match(upstream, workbench, content):
    base = upstream.tree({b"a.py": b"def f():\n" + content})
    patch = b"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n def f():\n     x = 1\n+    return x\n"
    with pytest.raises(PatchError, match="doesn't apply"):
        workbench.apply(base, patch)


@pytest.mark.parametrize(
    "patch, said",
    [
        (b"garbage\n", "No valid patches"),
        (b"--- a/a.py\n+++ b/a.py\n@@ -1 +1,3 @@\n-1\n+2\n", "corrupt"),
        (b"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+2\n", "already exists"),
        (b"--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-1\n+2\n", "does not exist"),
        (b"--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+2\n", "invalid path"),
        (b"--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+2\n", "invalid path"),
    ],
)
def test_refusal_names_the_decisive_line_of_git(upstream, workbench, patch, said):
    base = upstream.tree({b"a.py": b"1\n"})
    with pytest.raises(PatchError, match=said):
        workbench.apply(base, patch)


def test_patch_whose_last_newline_was_cut_still_applies(upstream, workbench):
    base, fixed = upstream.tree({b"a.py": b"1\n"}), upstream.tree({b"a.py": b"2\n"})
    assert workbench.apply(base, workbench.diff(base, fixed)[:-1]) == fixed
    image = upstream.tree({b"a.py": b"1\n", b"i.png": PNG})
    assert workbench.apply(base, workbench.diff(base, image).rstrip()) == image


def test_working_on_trees_leaves_the_repository_alone(upstream):
    base, fixed = upstream.tree({b"a.py": b"1\n"}), upstream.tree({b"a.py": b"2\n"})
    before = store_of(upstream)
    with TreeWorkbench(upstream.repository) as workbench:
        new = workbench.apply(base, b"--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+never stored upstream\n")
        workbench.compose(base, fixed, [b"a.py"])
        workbench.delta(base, new)
        folder = workbench.place.git_dir
    assert store_of(upstream) == before
    assert not upstream.repository.has(new)
    assert folder is not None
    assert not folder.exists()
    with pytest.raises(GitError, match="with"):
        workbench.diff(base, fixed)


# --- B016 --------------------------------------------------------------------------------------------


def test_binary_fixture_travels_with_its_data(upstream, workbench):
    old = upstream.tree({b"src/a.py": b"1\n", b"tests/data/img.bin": PNG})
    new = upstream.tree({b"src/a.py": b"2\n", b"tests/data/img.bin": PNG2})
    test = workbench.diff(old, new, [b"tests/data/img.bin"])
    assert parse_patch(test)[0].binary_data is True
    before = workbench.apply(old, test)
    assert workbench.delta(old, before).files[b"tests/data/img.bin"].data == PNG2


def test_plain_note_about_a_binary_is_not_passed_over(upstream, workbench):
    base = upstream.tree({b"a.py": b"1\n", b"i.bin": PNG})
    text = b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n"
    for patch in (
        b"Binary files a/i.bin and b/i.bin differ\n" + text,
        text + b"Files a/i.bin and b/i.bin differ\n",
    ):
        with pytest.raises(BinaryWithoutDataError, match=r"i\.bin"):
            workbench.apply(base, patch)


@pytest.mark.parametrize("index", [b"index 0000001..0000002 100644\n", b""], ids=["short ids", "no ids"])
def test_binary_without_data_is_never_skipped_silently(upstream, workbench, index):
    base = upstream.tree({b"src/a.py": b"1\n", b"tests/data/img.bin": PNG})
    text = b"--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-1\n+2\n"
    header = b"diff --git a/tests/data/img.bin b/tests/data/img.bin\n"
    with pytest.raises(BinaryWithoutDataError, match=r"img\.bin"):
        workbench.apply(base, text + header + index + b"Binary files a/x and b/x differ\n")


def test_binary_named_by_an_id_that_is_not_here_is_without_data(upstream, workbench):
    base = upstream.tree({b"i.bin": PNG})
    old = upstream.git("rev-parse", f"{base}:i.bin").strip()
    patch = b"diff --git a/i.bin b/i.bin\nindex %s..%s 100644\nBinary files a/i.bin and b/i.bin differ\n"
    with pytest.raises(BinaryWithoutDataError, match=r"i\.bin"):
        workbench.apply(base, patch % (old, b"1" * 40))


def test_binary_named_by_an_id_that_is_here_is_made_from_git(upstream, workbench):
    base, fixed = upstream.tree({b"i.bin": PNG}), upstream.tree({b"i.bin": PNG2})
    old, new = (upstream.git("rev-parse", f"{tree}:i.bin").strip() for tree in (base, fixed))
    patch = b"diff --git a/i.bin b/i.bin\nindex %s..%s 100644\nBinary files a/i.bin and b/i.bin differ\n"
    assert workbench.apply(base, patch % (old, new)) == fixed


# --- B017 --------------------------------------------------------------------------------------------


def test_mail_series_gives_its_net_change_without_messages(upstream, workbench):
    first = {b"src/a.py": b"1\n"}
    base = upstream.commit(first)
    middle = upstream.commit({**first, b"tests/data/a.txt": b"data\n" * 9}, parents=(base,))
    last = upstream.commit({b"src/a.py": b"2\n", b"tests/data/b.txt": b"data\n" * 9}, parents=(middle,))
    mail = upstream.git("format-patch", "--stdout", f"{base}..{last}")
    trees = [upstream.repository.tree_of(sha) for sha in (base, last)]
    net = workbench.apply(trees[0], mail)
    assert net == trees[1]
    patch = workbench.diff(trees[0], net)
    assert b"From " not in patch
    assert [file.paths for file in parse_patch(patch)] == [(b"src/a.py",), (b"tests/data/b.txt",)]


# --- broken machinery --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stderr, status",
    [
        ("error: unable to write file .git/objects/aa: No space left on device", 128),
        ("fatal: unable to write new index file", 128),
        ("fatal: Out of memory, malloc failed", 128),
        ("", 1),
        ("error: x", -9),
    ],
)
def test_full_disk_is_not_a_corrupt_patch(upstream, workbench, monkeypatch, stderr, status):
    def broken(arguments, *_, **__):
        raise GitError("git apply failed", argv=("git", *arguments), status=status, stderr=stderr)

    base = upstream.tree({b"a": b"1\n"})
    monkeypatch.setattr(workbench, "_load", lambda _: None)
    monkeypatch.setattr("swequarry.git.trees.run_git", broken)
    with pytest.raises(GitError, match="git apply failed"):
        workbench.apply(base, b"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n")


# --- missing objects ---------------------------------------------------------------------------------


def remove_blob(upstream: Upstream, tree: str, path: str) -> None:
    sha = upstream.git("rev-parse", f"{tree}:{path}").decode().strip()
    (upstream.path / "objects" / sha[:2] / sha[2:]).unlink()


def test_missing_content_is_not_a_corrupt_patch(upstream, workbench):
    old, new = (
        upstream.tree({b"a.py": b"1\n", b"b": b"b1\n"}),
        upstream.tree({b"a.py": b"2\n", b"b": b"b2\n"}),
    )
    remove_blob(upstream, old, "a.py")
    with pytest.raises(ObjectMissingError):
        workbench.apply(old, b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n")
    with pytest.raises(ObjectMissingError):
        workbench.diff(old, new)
    with pytest.raises(ObjectMissingError):
        workbench.delta(new, old)
    with pytest.raises(ObjectMissingError):
        workbench.diff(old, "1" * 40)
    assert len(workbench.changes(old, new)) == 2
    assert workbench.apply(old, b"--- a/b\n+++ b/b\n@@ -1 +1 @@\n-b1\n+b2\n") == workbench.compose(
        old, new, [b"b"]
    )


def test_commit_time_is_not_needed_for_trees(upstream, workbench):
    sha = upstream.commit({b"a": b"1"}, at=START + 5)
    assert workbench.changes(upstream.repository.tree_of(sha), upstream.tree({b"a": b"1"})) == ()


def test_absent_file_doesnt_hide_the_rest_of_a_tree(upstream, workbench, tmp_path):
    tree = upstream.tree({b"big.bin": b"big\n", b"d/a.py": b"1\n"})
    remove_blob(upstream, tree, "big.bin")
    with pytest.raises(ObjectMissingError):
        workbench.materialise(tree, tmp_path / "whole")
    absent = workbench.materialise(tree, tmp_path / "partial", partial=True)
    assert [entry.path for entry in absent] == [b"big.bin"]
    assert (tmp_path / "partial" / "d" / "a.py").read_bytes() == b"1\n"


def test_small_patch_that_unpacks_to_gigabytes_is_refused_before_it_does(upstream, workbench):
    base = upstream.tree({b"a.py": b"1\n"})
    bomb = (
        b"diff --git a/x b/x\nnew file mode 100644\nindex " + b"0" * 40 + b".." + b"1" * 40 + b"\n"
        b"GIT binary patch\nliteral 4294967296\nHcmV?d00001\n\nliteral 0\nHcmV?d00001\n\n"
    )
    with pytest.raises(PatchError, match="allocate"):
        workbench.apply(base, bomb)
