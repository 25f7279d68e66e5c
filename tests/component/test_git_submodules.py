"""Submodules come as plain files of the pinned commit, whoever wrote `.gitmodules`, and bring no history."""

import os
import shutil
from pathlib import Path

import pytest
from git_building import LINK, REPO, SUBMODULE, Files, Upstream, git, make_upstream, plain_files

from swequarry.errors import GitError
from swequarry.git.audit import audit_closure
from swequarry.git.mirrors import MirrorLocator
from swequarry.git.repository import Repository
from swequarry.git.snapshot import make_snapshot
from swequarry.git.submodules import named_by
from swequarry.git.trees import TreeWorkbench
from swequarry.records import CommitSha, RepoRef, Snapshot
from swequarry.verify.candidate import folder_tree

SECRET = b"return the_fix(42)\n"
HELPERS: Files = {
    b"setup.py": b"print(1)\n",
    b"win.bat": b"a\n",
    b"run": (0o100755, b"#!/bin/sh\n"),
    b"link": (LINK, b"setup.py"),
    b".gitattributes": b"*.bat eol=crlf\n*.py ident\n",
}


def gitmodules(path: str, url: str, name: str = "helpers") -> bytes:
    return f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n'.encode()


def mirror(folder: Path, full_name: str) -> Upstream:
    (folder / full_name).mkdir(parents=True)
    return make_upstream(folder / full_name, "repo")


def locator(folder: Path) -> MirrorLocator:
    return MirrorLocator(
        template=f"{folder}/{{owner}}/{{name}}/repo", url="file:///none", cache=folder / "cache"
    )


class House:
    """A folder of mirrors: the project's own, and those of its submodules."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = mirror(folder, REPO.full_name)

    def snapshot(self, base: CommitSha, name: str = "made") -> tuple[Snapshot, Path]:
        made = self.folder / name
        return make_snapshot(self.own.repository, base, made, REPO, locate=locator(self.folder).at_hand), made


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.example/acme/helpers.git",
        "../helpers.git",
        "../../acme/helpers",
        "git@x.example:acme/helpers.git",
        "ssh://git@x.example:22/acme/helpers",
    ],
)
def test_files_of_the_pinned_commit_are_there_and_nothing_else_is(house: House, url: str) -> None:
    helpers = mirror(house.folder, "acme/helpers")
    old = helpers.commit({b"setup.py": SECRET})
    pinned = helpers.commit(HELPERS, parents=(old,))
    helpers.commit({b"setup.py": SECRET}, parents=(pinned,))
    base = house.own.commit(
        {
            b"a.py": b"1\n",
            b"lib/helpers": (SUBMODULE, pinned.encode()),
            b".gitmodules": gitmodules("lib/helpers", url),
        }
    )
    snapshot, made = house.snapshot(base)
    assert plain_files(made / "lib" / "helpers") == {
        path: content[1] if isinstance(content, tuple) else content for path, content in HELPERS.items()
    }
    assert os.access(made / "lib" / "helpers" / "run", os.X_OK)
    assert snapshot.audit.findings == ()
    assert audit_closure(made, base, snapshot.submodule_files) == snapshot.audit
    assert [(s.path, s.commit) for s in snapshot.submodule_files] == [("lib/helpers", pinned)]
    assert git(made, "status", "--porcelain", "--ignored") == b""
    assert list(made.rglob(".git")) == [made / ".git"]
    assert not (made / ".git" / "modules").exists()
    assert pinned.encode() not in git(made, "cat-file", "--batch-all-objects", "--batch-check")
    assert {p.stat().st_mtime for p in made.rglob("lib/**/*")} == {(made / "a.py").stat().st_mtime}
    assert Snapshot.from_json(snapshot.to_json()) == snapshot


def test_a_commit_in_the_own_store_needs_no_hint(house: House) -> None:
    pinned = house.own.commit({b"x.py": b"1\n"}, ref="refs/heads/vendored")
    snapshot, made = house.snapshot(house.own.commit({b"vendor": (SUBMODULE, pinned.encode())}))
    assert plain_files(made) == {b"vendor/x.py": b"1\n"}
    assert snapshot.audit.findings == ()


def test_what_is_pinned_and_no_commit_gives_no_files(house: House) -> None:
    blob = house.own.git("hash-object", "-w", "--stdin", stdin=SECRET).strip()
    snapshot, made = house.snapshot(house.own.commit({b"vendor": (SUBMODULE, blob)}))
    assert (snapshot.submodules, snapshot.submodule_files) == (("vendor",), ())
    assert plain_files(made) == {}
    assert snapshot.audit.findings == ()


def test_submodules_of_submodules_come_too_and_an_absent_one_is_named(house: House) -> None:
    inner = mirror(house.folder, "other/inner").commit({b"deep.txt": b"deep"})
    outer = mirror(house.folder, "other/outer").commit(
        {
            b"top.txt": b"top",
            b"in": (SUBMODULE, inner.encode()),
            b"gone": (SUBMODULE, b"1" * 40),
            b".gitmodules": gitmodules("in", "../inner.git") + gitmodules("gone", "../gone.git", "gone"),
        }
    )
    base = house.own.commit(
        {b"v": (SUBMODULE, outer.encode()), b".gitmodules": gitmodules("v", "https://x.example/other/outer")}
    )
    snapshot, made = house.snapshot(base)
    assert (made / "v" / "in" / "deep.txt").read_bytes() == b"deep"
    assert list((made / "v" / "gone").iterdir()) == []
    assert snapshot.submodules == ("v", "v/gone", "v/in")
    assert [record.path for record in snapshot.submodule_files] == ["v", "v/in"]
    assert snapshot.audit.findings == ()


def test_a_submodule_that_pins_itself_ends(house: House) -> None:
    seed = mirror(house.folder, "acme/helpers")
    commits = [seed.commit({b"x": b"0"})]
    for _ in range(9):
        commits.append(seed.commit({b"s": (SUBMODULE, commits[-1].encode())}, parents=commits[-1:] and ()))
    base = house.own.commit(
        {b"s": (SUBMODULE, commits[-1].encode()), b".gitmodules": gitmodules("s", "../helpers")}
    )
    snapshot, _ = house.snapshot(base)
    assert max(record.path.count("/") for record in snapshot.submodule_files) < len(commits) - 2
    assert snapshot.audit.findings == ()


def test_a_mirror_without_the_pinned_commit_gives_no_files(house: House) -> None:
    mirror(house.folder, "acme/helpers").commit({b"a": SECRET})
    base = house.own.commit({b"h": (SUBMODULE, b"2" * 40), b".gitmodules": gitmodules("h", "../helpers")})
    snapshot, made = house.snapshot(base)
    assert list((made / "h").iterdir()) == []
    assert (snapshot.submodules, snapshot.submodule_files) == (("h",), ())
    plain = make_snapshot(house.own.repository, base, house.folder / "plain", REPO)
    assert plain.content_hash() == snapshot.content_hash()


def test_files_that_the_submodules_mirror_lacks_are_named(house: House) -> None:
    helpers = mirror(house.folder, "acme/helpers")
    pinned = helpers.commit({b"a": b"1", b"big.bin": b"large"})
    lost = helpers.git("rev-parse", f"{pinned}:big.bin").decode().strip()
    (helpers.path / "objects" / lost[:2] / lost[2:]).unlink()
    base = house.own.commit(
        {b"h": (SUBMODULE, pinned.encode()), b".gitmodules": gitmodules("h", "../helpers")}
    )
    snapshot, made = house.snapshot(base)
    assert plain_files(made / "h") == {b"a": b"1"}
    assert snapshot.submodule_files[0].absent == ("big.bin",)
    assert snapshot.audit.findings == ()


# --- hostile `.gitmodules` and trees ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=touch",
        "ext::sh -c touch",
        "file:///srv/acme/helpers",
        "/srv/acme/helpers",
        "acme/helpers",
        "./acme/helpers",
        "../../../acme/helpers",
        "../../../../etc",
        "../",
        "../-x",
        "../..",
        "../...git",
        "ssh://-oProxyCommand=x/acme/helpers",
        "https://x.example/acme/../helpers",
        "https://x.example/acme/helpers/more",
        "https://x.example/helpers",
        "https://x.example//helpers",
        "https://x.example/-acme/helpers",
        "https://x.example/acme/helpers\n[core]",
        "https://x.example/acme/hel pers",
        "https://x.example/acme/{0}",
        "git@x.example:-acme/helpers",
        "",
    ],
)
def test_odd_urls_name_no_repository(url: str) -> None:
    assert named_by(url, REPO) is None


def test_relative_urls_are_relative_to_the_repository() -> None:
    assert named_by("../b.git", REPO) == RepoRef(owner="acme", name="b")
    assert named_by("../../c/d/", REPO) == RepoRef(owner="c", name="d")


@pytest.mark.parametrize(
    "text",
    [
        b'[submodule "../../x"]\n\tpath = ../../outside\n\turl = ../helpers\n',
        b'[submodule "x"]\n\tpath = /tmp/outside\n\turl = ../helpers\n',
        b'[submodule "x"]\n\tpath = link/x\n\turl = ../helpers\n',
        b'[submodule "x"]\n\tpath = .git/hooks\n\turl = ../helpers\n\tupdate = !touch hacked\n',
        b"[include]\n\tpath = ../included\n",
        b'[submodule "x"\n[[[',
        b"\0\0",
        b"",
    ],
    ids=["outside", "absolute", "below a link", "git folder", "include", "broken", "zeros", "empty"],
)
def test_hostile_gitmodules_do_nothing(house: House, text: bytes) -> None:
    pinned = mirror(house.folder, "acme/helpers").commit({b"post-checkout": SECRET})
    (house.folder / "included").write_bytes(gitmodules("h", "../helpers"))
    base = house.own.commit(
        {b"h": (SUBMODULE, pinned.encode()), b"link": (LINK, b".git/hooks"), b".gitmodules": text}
    )
    before = sorted(path for path in house.folder.rglob("*") if "repo" not in path.parts)
    snapshot, made = house.snapshot(base)
    assert snapshot.submodule_files == ()
    assert list((made / "h").iterdir()) == []
    assert snapshot.audit.findings == ()
    outside = (p for p in house.folder.rglob("*") if "repo" not in p.parts and made not in (p, *p.parents))
    assert sorted(outside) == before


def test_gitmodules_that_are_a_link_are_refused(house: House) -> None:
    pinned = mirror(house.folder, "acme/helpers").commit({b"x": SECRET})
    (house.folder / "elsewhere").write_bytes(gitmodules("h", "../helpers"))
    base = house.own.commit({b"h": (SUBMODULE, pinned.encode()), b".gitmodules": (LINK, b"../elsewhere")})
    with pytest.raises(GitError, match="invalid path"):
        house.snapshot(base)
    assert not (house.folder / "made").exists()


@pytest.mark.parametrize("name", [b".git", b".GIT", b".."])
def test_a_submodule_with_hostile_paths_gives_no_files(house: House, name: bytes) -> None:
    helpers = mirror(house.folder, "acme/helpers")
    blob = helpers.git("hash-object", "-w", "--stdin", stdin=SECRET).strip()
    inner = helpers.git("mktree", "-z", stdin=b"100644 blob %s\tconfig\0" % blob).strip()
    raw = b"40000 %s\0" % name + bytes.fromhex(inner.decode())
    tree = helpers.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw).strip()
    pinned = helpers.git("commit-tree", tree, "-m", "x").strip()
    base = house.own.commit({b"h": (SUBMODULE, pinned), b".gitmodules": gitmodules("h", "../helpers")})
    snapshot, made = house.snapshot(base)
    assert snapshot.submodule_files == ()
    assert list((made / "h").iterdir()) == []
    assert not (made / "config").exists()


# --- the audit ----------------------------------------------------------------------------------------


def _edit(made: Path) -> None:
    (made / "h" / "setup.py").write_bytes(SECRET)


def _add(made: Path) -> None:
    (made / "h" / "later.py").write_bytes(SECRET)


def _remove(made: Path) -> None:
    (made / "h" / "setup.py").unlink()


def _mode(made: Path) -> None:
    (made / "h" / "setup.py").chmod(0o755)


def _link(made: Path) -> None:
    (made / "h" / "setup.py").unlink()
    (made / "h" / "setup.py").symlink_to("/etc/passwd")


def _fifo(made: Path) -> None:
    os.mkfifo(made / "h" / "pipe")


def _elsewhere(made: Path) -> None:
    (made / "h").rename(made.parent / "moved")
    (made / "h").symlink_to(made.parent / "moved")


def _beside(made: Path) -> None:
    (made / "empty" / "x").write_bytes(SECRET)


def _history(made: Path) -> None:
    git(made / "h", "init", "-q", ".")


@pytest.mark.parametrize("tamper", [_edit, _add, _remove, _mode, _link, _fifo, _elsewhere, _beside, _history])
def test_audit_sees_what_git_status_hides_in_submodules(house: House, tamper: object) -> None:
    pinned = mirror(house.folder, "acme/helpers").commit(HELPERS)
    base = house.own.commit(
        {
            b"h": (SUBMODULE, pinned.encode()),
            b"empty": (SUBMODULE, b"3" * 40),
            b".gitmodules": gitmodules("h", "../helpers"),
        }
    )
    snapshot, made = house.snapshot(base)
    assert snapshot.audit.findings == ()
    copy = house.folder / "copy"
    shutil.copytree(made, copy, symlinks=True)
    assert audit_closure(copy, base, snapshot.submodule_files).findings == ()
    assert audit_closure(copy, base).findings != (), "files that no record proves"
    assert callable(tamper)
    tamper(copy)
    findings = audit_closure(copy, base, snapshot.submodule_files).findings
    assert any(finding.startswith("work-tree: ") for finding in findings)


def test_files_of_submodules_are_no_work_of_a_solver(house: House) -> None:
    pinned = mirror(house.folder, "acme/helpers").commit(HELPERS)
    files: Files = {
        b"h": (SUBMODULE, pinned.encode()),
        b".gitmodules": gitmodules("h", "../helpers"),
        b"a": b"1\n",
    }
    base = house.own.commit(files)
    _, made = house.snapshot(base)
    own, changed = house.own.repository.tree_of(base), house.own.tree({**files, b"a": b"2\n"})
    with TreeWorkbench(house.own.repository) as bench:
        assert folder_tree(bench, own, made) == (own, ())
        _edit(made)
        (made / "a").write_bytes(b"2\n")
        assert folder_tree(bench, own, made) == (changed, ())


def test_a_mirror_at_hand_is_opened_and_none_is_cloned(tmp_path: Path) -> None:
    mirror(tmp_path, "acme/helpers")
    places = locator(tmp_path)
    found = places.at_hand(RepoRef(owner="acme", name="helpers"))
    assert found == Repository.open(tmp_path / "acme" / "helpers" / "repo")
    (tmp_path / "acme" / "file" / "repo").mkdir(parents=True)
    for owner, name in (("acme", "other"), ("acme", "file"), ("..", "acme"), ("acme/helpers", "repo")):
        assert places.at_hand(RepoRef(owner=owner, name=name)) is None
    assert not (tmp_path / "cache").exists()
