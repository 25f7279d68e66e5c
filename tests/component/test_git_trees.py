import os
import stat

import pytest
from git_building import LINK, SUBMODULE, Upstream, make_upstream, plain_files

from swequarry.errors import PatchError
from swequarry.git.patches import parse_patch
from swequarry.git.trees import TreeWorkbench


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    return make_upstream(tmp_path)


@pytest.fixture
def workbench(upstream):
    with TreeWorkbench(upstream.repository) as opened:
        yield opened


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
