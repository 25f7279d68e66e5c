import os
import stat

import pytest
from git_building import LINK, START, SUBMODULE, Upstream, make_upstream, plain_files

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


# --- B013 --------------------------------------------------------------------------------------------


def is_test(path: bytes) -> bool:
    return path.startswith(b"tests/")


def test_renames_across_the_border_are_not_half_lost(upstream, workbench):
    body = b"".join(b"line %d\n" % n for n in range(20))
    old = upstream.tree({b"tests/test_old.py": body, b"src/a.py": b"1\n", b"helpers.py": body + b"x\n"})
    new = upstream.tree(
        {b"tests/unit/test_new.py": body, b"src/a.py": b"2\n", b"tests/helpers.py": body + b"y\n"}
    )
    touched = {path for change in workbench.changes(old, new) for path in change.paths}
    tests, source = {p for p in touched if is_test(p)}, {p for p in touched if not is_test(p)}
    gold, test = workbench.diff(old, new, sorted(source)), workbench.diff(old, new, sorted(tests))
    assert sorted((f.status, f.paths) for f in parse_patch(gold)) == [
        ("D", (b"helpers.py",)),
        ("M", (b"src/a.py",)),
    ]
    assert sorted((f.status, f.paths) for f in parse_patch(test)) == [
        ("A", (b"tests/helpers.py",)),
        ("R", (b"tests/test_old.py", b"tests/unit/test_new.py")),
    ]
    before = workbench.apply(old, test)
    assert before == workbench.compose(old, new, tests)
    assert workbench.apply(before, gold) == new
    assert b"tests/test_old.py" in workbench.delta(old, before).removed


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


# --- B019 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attributes", [b"", b"* text=auto\n", b"*.py text\n"])
def test_crlf_files_keep_every_byte(upstream, workbench, attributes):
    old = upstream.tree({b"win.py": b"a\r\nb\r\n", b".gitattributes": attributes})
    patch = b"--- a/win.py\n+++ b/win.py\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"
    new = workbench.apply(old, patch)
    assert workbench.delta(old, new).files[b"win.py"].data == b"a\r\nB\r\n"
    with pytest.raises(PatchError):
        workbench.apply(old, patch.replace(b"\r\n", b"\n"))


def test_files_are_written_as_a_checkout_would(upstream, workbench):
    old = upstream.tree({b".gitattributes": b"*.bat eol=crlf\n"})
    new = upstream.tree({b".gitattributes": b"*.bat eol=crlf\n", b"run.bat": b"a\nb\n", b"run.sh": b"a\nb\n"})
    files = workbench.delta(old, new).files
    assert (files[b"run.bat"].data, files[b"run.sh"].data) == (b"a\r\nb\r\n", b"a\nb\n")


def test_filters_named_by_a_hostile_repository_do_not_run(upstream, tmp_path):
    mark = tmp_path / "ran"
    upstream.git("config", "filter.evil.smudge", f"touch {mark}; cat")
    upstream.git("config", "diff.evil.textconv", f"touch {mark}; cat")
    upstream.git("config", "diff.external", f"touch {mark}")
    attributes = b"* filter=evil diff=evil\n"
    (upstream.path / "info").mkdir(exist_ok=True)
    (upstream.path / "info" / "attributes").write_bytes(attributes)
    old = upstream.tree({b".gitattributes": attributes, b"a.py": b"1\n"})
    new = upstream.tree({b".gitattributes": attributes, b"a.py": b"2\n"})
    with TreeWorkbench(upstream.repository) as workbench:
        assert b"+2\n" in workbench.diff(old, new)
        assert workbench.delta(old, new).files[b"a.py"].data == b"2\n"
    assert not mark.exists()


# --- diff and changes --------------------------------------------------------------------------------


def test_attributes_in_the_tree_do_not_hide_a_text_change(upstream, workbench):
    old = upstream.tree({b".gitattributes": b"*.py -diff\n", b"a.py": b"1\n"})
    new = upstream.tree({b".gitattributes": b"*.py -diff\n", b"a.py": b"2\n"})
    assert b"-1\n+2\n" in workbench.diff(old, new)


def test_settings_of_the_repository_do_not_change_a_patch(upstream):
    body = b"".join(b"%d\n" % n for n in range(30))
    old = upstream.tree({b"a.py": body, b"b.py": body})
    new = upstream.tree({b"c.py": body, b"b.py": body.replace(b"15\n", b"x\n")})
    with TreeWorkbench(upstream.repository) as workbench:
        plain = workbench.diff(old, new)
    for key, value in {
        "diff.noprefix": "true",
        "diff.renames": "false",
        "diff.context": "0",
        "diff.algorithm": "patience",
        "diff.suppressBlankEmpty": "true",
        "core.abbrev": "4",
        "color.ui": "always",
    }.items():
        upstream.git("config", key, value)
    with TreeWorkbench(upstream.repository) as workbench:
        assert workbench.diff(old, new) == plain
    assert b"rename from a.py" in plain


def test_paths_are_names_not_patterns(upstream, workbench):
    old = upstream.tree({b"a*.py": b"1\n", b"ab.py": b"1\n", b":(top)x": b"1\n", b"d/x": b"1\n"})
    new = upstream.tree({b"a*.py": b"2\n", b"ab.py": b"2\n", b":(top)x": b"2\n", b"d/x": b"2\n"})
    for path in (b"a*.py", b":(top)x", b"d/x"):
        assert [f.paths for f in parse_patch(workbench.diff(old, new, [path]))] == [(path,)]
    assert workbench.diff(old, new, [b"d", b"d/"]) == b""


def test_every_kind_of_change_is_told_apart(upstream, workbench):
    body = b"".join(b"%d\n" % n for n in range(9))
    old = upstream.tree({b"mode": body, b"kind": body, b"gone": b"x", b"old name": body + b"z\n"})
    new = upstream.tree(
        {b"mode": (0o100755, body), b"kind": (LINK, b"mode"), b"new\nname": body + b"z\n", b"\xff": b"new"}
    )
    plain = {c.paths[0]: c.status for c in workbench.changes(old, new)}
    assert plain == {
        b"mode": "M",
        b"kind": "T",
        b"gone": "D",
        b"old name": "D",
        b"new\nname": "A",
        b"\xff": "A",
    }
    renamed = [c for c in workbench.changes(old, new, renames=True) if c.status == "R"]
    assert [c.paths for c in renamed] == [(b"old name", b"new\nname")]


# --- compose -----------------------------------------------------------------------------------------


def test_composing_takes_exactly_the_named_paths(upstream, workbench):
    base = upstream.tree({b"a": b"1", b"b": b"1", b"gone": b"1"})
    source = upstream.tree({b"a": b"2", b"b": b"2", b"new": (0o100755, b"2")})
    result = workbench.compose(base, source, [b"a", b"gone", b"new", b"in neither"])
    assert result == upstream.tree({b"a": b"2", b"b": b"1", b"new": (0o100755, b"2")})
    assert workbench.compose(base, source, []) == base


def test_file_in_the_way_of_a_folder_is_not_dropped_silently(upstream, workbench):
    base = upstream.tree({b"tests": b"a file\n"})
    source = upstream.tree({b"tests/test_a.py": b"1\n"})
    with pytest.raises(PatchError, match="tests"):
        workbench.compose(base, source, [b"tests/test_a.py"])
    assert workbench.compose(base, source, [b"tests", b"tests/test_a.py"]) == source


def test_many_paths_do_not_hit_the_limit_of_an_argument_list(upstream, workbench):
    folder = b"/".join([b"x" * 250] * 12)
    files = {b"%s/test_%04d.py" % (folder, n): b"1\n" for n in range(800)}  # 2.4 MB of names
    base, source = upstream.tree({b"a": b"1"}), upstream.tree({b"a": b"1", **files})
    assert workbench.compose(base, source, list(files)) == source
    assert workbench.diff(base, source, [*files, b"a"]) == workbench.diff(base, source)


# --- delta and materialise ---------------------------------------------------------------------------


def test_delta_has_modes_links_and_odd_names(upstream, workbench):
    old = upstream.tree({b"keep": b"1", b"gone": b"1"})
    new = upstream.tree(
        {
            b"keep": b"1",
            b"run.sh": (0o100755, b"#!"),
            b"sp ace\n\xff": b"\x00\r\n",
            b"link": (LINK, b"/etc/\xff"),
        }
    )
    delta = workbench.delta(old, new)
    assert delta.removed == (b"gone",)
    found = {path: (file.mode, file.data) for path, file in delta.files.items()}
    assert found == {
        b"run.sh": (0o100755, b"#!"),
        b"sp ace\n\xff": (0o100644, b"\x00\r\n"),
        b"link": (0o120000, b"/etc/\xff"),
    }


def test_folder_that_becomes_a_file_goes_first(upstream, workbench):
    old, new = upstream.tree({b"d/x": b"1", b"d/y/z": b"1"}), upstream.tree({b"d": b"file"})
    delta = workbench.delta(old, new)
    assert delta.removed == (b"d", b"d/x", b"d/y/z")
    assert set(delta.files) == {b"d"}


@pytest.mark.parametrize("back", [False, True])
def test_submodule_that_becomes_a_file_or_back_leaves_no_rest(upstream, workbench, back):
    file, module = (
        upstream.tree({b"lib": b"1", b"x": b""}),
        upstream.tree({b"lib": (SUBMODULE, b"1" * 40), b"x": b""}),
    )
    delta = workbench.delta(*((module, file) if back else (file, module)))
    assert delta.removed == (b"lib",)
    assert set(delta.files) == ({b"lib"} if back else set())


def test_links_in_a_tree_lead_no_write_outside(upstream, workbench, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    tree = upstream.tree({b"d": (LINK, os.fsencode(outside)), b"e": b"1"})
    target = tmp_path / "made"
    workbench.materialise(tree, target)
    assert (target / "d").is_symlink()
    other = upstream.tree({b"d/x": b"1"})
    workbench.materialise(other, target)
    assert list(outside.iterdir()) == []


def test_materialised_tree_is_the_tree(upstream, workbench, tmp_path):
    files = {
        b"a b/c\n.py": b"1\r\n",
        b"back\\slash": b"2",
        b"aux": b"3",
        b"\xff": b"4",
        b"l": (LINK, b"gone"),
    }
    tree = upstream.tree({**files, b"x": (0o100755, b"#!"), b"sub": (SUBMODULE, b"1" * 40)})
    workbench.materialise(tree, tmp_path / "made")
    expected = {path: data[1] if isinstance(data, tuple) else data for path, data in files.items()}
    assert plain_files(tmp_path / "made") == {**expected, b"x": b"#!"}
    assert stat.S_IMODE((tmp_path / "made" / "x").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "made" / "back\\slash").stat().st_mode) == 0o644
    assert (tmp_path / "made" / "sub").is_dir()


def test_modes_do_not_depend_on_the_users_umask(upstream, workbench, tmp_path):
    tree = upstream.tree({b"d/a": b"1"})
    old = os.umask(0o077)
    try:
        workbench.materialise(tree, tmp_path / "made")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "made" / "d" / "a").stat().st_mode) == 0o644


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
