"""Mining as a whole: one outcome for every pull request and every row, none lost (B013, B016, B019, B022)."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from git_building import LINK, START, SUBMODULE, Upstream, make_upstream

from miner.mine import mine_unit, mine_units, parse_repository, read_repositories, unit_fingerprint
from miner.policy import read_policy
from miner.sources.git import GitSource, PullFilter
from swequarry.config import CurateSettings, Settings, SourceSettings
from swequarry.errors import ConfigError, InputError, RepositoryError, StorageError
from swequarry.git.history import merged_pulls
from swequarry.git.mirrors import MirrorLocator
from swequarry.git.trees import TreeWorkbench
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.records import BlobHash, Licence, RepoRef, StatementKind, TreeProof

BASE = {
    b"src/a.py": b"def a():\n    return 1\n",
    b"helpers.py": b"def help():\n    return 'one'\n\n\ndef more():\n    return 'two'\n",
    b"tests/test_old.py": b"def test_old():\n    assert True\n",
    b"tests/test_a.py": b"def test_a():\n    assert True\n",
    b"tests/data/img.bin": b"\x00\x01",
    b"docs/a.md": b"text\n",
}
FIX = {b"src/a.py": b"def a():\n    return 2\n", b"tests/test_a.py": b"def test_a():\n    assert 2\n"}


@dataclass
class Quarry:
    """A mirror with one repository, and the mining of it."""

    folder: Path
    upstream: Upstream
    blobs: dict[BlobHash, bytes] = field(default_factory=dict)
    clock: int = START
    tip: str = ""

    def put(self, data: bytes) -> BlobHash:
        name = BlobHash(hashlib.sha256(data).hexdigest())
        self.blobs[name] = data
        return name

    def add(self, message: str, files: dict) -> str:
        self.clock += 86_400
        self.tip = self.upstream.commit(
            files, parents=(self.tip,) if self.tip else (), at=self.clock, message=message
        )
        return self.tip

    @property
    def locator(self) -> MirrorLocator:
        template = str(self.folder / "{owner}+{name}.git")
        return MirrorLocator(template=template, url="file:///nowhere/{name}", cache=self.folder / "cache")

    def settings(self, curate=None, **source) -> Settings:
        if "rows" not in source:
            source = {"repositories": ("acme/widgets",), **source}
        return Settings(source=SourceSettings(**source), curate=curate or CurateSettings())

    def items(self, curate=None, **source):
        settings = self.settings(curate, **source)
        return [
            item
            for unit in mine_units(settings)
            for item in mine_unit(unit, settings, self.locator, self.put)
        ]

    def outcomes(self, curate=None, **source):
        items = self.items(curate, **source)
        found = {item.item: item.outcome for item in items}
        assert len(found) == len(items), "two items with one key"
        return found

    def code_of(self, files: dict, curate=None) -> RejectCode | None:
        """Merge files as one pull request and return how it ends; None is accepted."""
        self.add("Change (#1)", files)
        outcome = self.outcomes(curate)["acme__widgets-1"]
        return None if isinstance(outcome, Accepted) else outcome.code

    def candidate(self, number: int = 1, **source):
        outcome = self.outcomes(**source)[f"acme__widgets-{number}"]
        assert isinstance(outcome, Accepted), outcome
        return outcome.value

    def patches(self, candidate) -> tuple[bytes, bytes]:
        return self.blobs[candidate.test_patch], self.blobs[candidate.gold_patch]


@pytest.fixture
def quarry(tmp_path):
    made = Quarry(tmp_path, make_upstream(tmp_path, "acme+widgets.git"))
    made.add("start", BASE)
    return made


# --- splitting ---------------------------------------------------------------------------------------


def test_parts_of_a_candidate_add_up_to_the_merged_tree(quarry):
    quarry.add("Fix a (#1)", BASE | FIX | {b"docs/a.md": b"more\n"})
    candidate = quarry.candidate()
    tests, gold = quarry.patches(candidate)
    assert candidate.tree_proof is TreeProof.PROVEN
    assert candidate.test_files == ("tests/test_a.py",)
    assert candidate.gold_files == ("docs/a.md", "src/a.py")
    with TreeWorkbench(quarry.upstream.repository) as bench:
        assert bench.apply(candidate.base_tree, tests) == candidate.before_tree
        assert bench.apply(candidate.before_tree, gold) == candidate.after_tree
    assert candidate.after_tree == quarry.upstream.repository.tree_of(quarry.tip)
    assert candidate.cutoff == candidate.merged_at


def test_renames_within_and_across_the_border_are_never_half_lost(quarry):
    files = BASE | FIX
    files[b"tests/unit/test_new.py"] = files.pop(b"tests/test_old.py")
    files[b"tests/helpers.py"] = files.pop(b"helpers.py").replace(b"one", b"1")
    quarry.add("Move (#1)", files)
    candidate = quarry.candidate()
    tests, gold = quarry.patches(candidate)
    assert b"rename to tests/unit/test_new.py" in tests
    assert b"new file mode" in tests
    assert b"+++ b/tests/helpers.py" in tests
    assert b"deleted file mode" in gold
    assert candidate.gold_files == ("helpers.py", "src/a.py")
    assert candidate.tree_proof is TreeProof.PROVEN


def test_binary_fixture_travels_with_its_data(quarry):
    quarry.add("Fix (#1)", BASE | FIX | {b"tests/data/img.bin": b"\x00\x02"})
    tests, gold = quarry.patches(quarry.candidate())
    assert b"GIT binary patch" in tests
    assert b"img.bin" not in gold


def test_line_ends_modes_links_and_odd_paths_survive(quarry):
    odd = {
        b"src/win.py": b"a\r\nB\r\n",
        b"src/run.py": (0o100755, b"x\n"),
        b"tests/link": (LINK, b"data/img.bin"),
        b"tests/t\xc3\xa9st_a.py": b"def test_e():\n    assert 1\n",
        b'tests/we"ird\n\xff name.txt': b"x",
    }
    quarry.add("Fix (#1)", BASE | FIX | odd)
    candidate = quarry.candidate()
    assert candidate.tree_proof is TreeProof.PROVEN
    assert "tests/tést_a.py" in candidate.test_files
    assert b"B\r\n" in quarry.patches(candidate)[1]
    json.dumps(candidate.to_json())


@pytest.mark.parametrize(
    "files, code",
    [
        ({b"src/a.py": b"x"}, RejectCode.NO_TEST_CHANGE),
        ({b"tests/test_a.py": b"x"}, RejectCode.NO_SOURCE_CHANGE),
        ({b"docs/a.md": b"x"}, RejectCode.NO_SOURCE_CHANGE),
        ({b"docs/a.md": b"x", b"tests/test_a.py": b"x"}, RejectCode.NO_SOURCE_CHANGE),
        ({b"setup.cfg": b"x", b"tests/test_a.py": b"x"}, RejectCode.NO_SOURCE_CHANGE),
        ({}, RejectCode.NO_SOURCE_CHANGE),
        ({b"src/a.js": b"x", b"tests/a.test.js": b"x"}, RejectCode.NOT_PYTHON),
        (FIX | {b"vendor/lib": (SUBMODULE, b"1" * 40)}, RejectCode.SUBMODULE_CHANGED),
        (FIX | {b"src/big.py": b"x = 1\n" * 300_000}, RejectCode.TOO_LARGE),
        (FIX | {b"src/m%d.py" % n: b"x" for n in range(101)}, RejectCode.TOO_LARGE),
    ],
)
def test_unfit_change_has_its_own_code(quarry, files, code):
    assert quarry.code_of(BASE | files) is code


def test_file_that_becomes_a_folder_across_the_border_is_rejected_not_broken(quarry):
    quarry.add("prepare", BASE | {b"src/tests": b"a file\n"})
    files = BASE | FIX | {b"src/tests/test_x.py": b"def test_x():\n    assert 1\n"}
    assert quarry.code_of(files) is RejectCode.RENAME_ACROSS_BORDER


def test_change_of_fixtures_only_is_flagged(quarry):
    quarry.add("Fix (#1)", BASE | {b"src/a.py": b"x = 1\n", b"tests/data/img.bin": b"\x00\x02"})
    assert "fixtures_only" in quarry.candidate().flags


# --- statements and links ----------------------------------------------------------------------------


def issues(quarry, *lines):
    path = quarry.folder / "issues.jsonl"
    path.write_text("\n".join(json.dumps({"repo": "acme/widgets", **line}) for line in lines))
    return path


def test_statement_without_an_issue_is_made_of_messages_and_flagged(quarry):
    quarry.add("Fix a (#1)\n\nIt returned 1.", BASE | FIX)
    candidate = quarry.candidate()
    assert candidate.statement.kind is StatementKind.COMMITS
    assert candidate.statement.text == "Fix a\n\nIt returned 1."
    assert "statement_from_commits" in candidate.flags


def test_linked_issue_gives_the_statement(quarry):
    quarry.add("Fix a (#1)\n\nFixes #30", BASE | FIX)
    path = issues(quarry, {"number": 30, "title": "a is wrong", "body": "It is 1."})
    candidate = quarry.candidate(issues=path)
    assert candidate.statement.kind is StatementKind.ISSUE
    assert candidate.statement.text == "a is wrong\nIt is 1."
    assert [link.number for link in candidate.links] == [30]
    assert candidate.flags == ()


@pytest.mark.parametrize(
    "words, line, code",
    [
        ("This does not fix #30", {"number": 30, "title": "T", "body": "B"}, RejectCode.NO_LINKED_ISSUE),
        (
            "Closes #30",
            {"number": 30, "title": "T", "body": "B", "pull_request": {"url": "x"}},
            RejectCode.NO_LINKED_ISSUE,
        ),
        ("Closes #30", {"number": 30, "title": "", "body": None}, RejectCode.EMPTY_PROBLEM_STATEMENT),
        ("Closes #30", {"number": 30, "title": "T", "body": ""}, RejectCode.EMPTY_PROBLEM_STATEMENT),
    ],
)
def test_link_that_leads_to_no_issue_makes_no_task(quarry, words, line, code):
    quarry.add(f"Fix a (#1)\n\n{words}", BASE | FIX)
    outcome = quarry.outcomes(issues=issues(quarry, line))["acme__widgets-1"]
    assert isinstance(outcome, Rejected)
    assert outcome.code is code


def test_pull_request_beyond_the_limits_of_the_api_is_read_whole_from_git(quarry):
    """B055: 260 commits, the 255th with the link, and 301 files of source: the API shows 250 and 300."""
    base = head = quarry.tip
    many = {b"src/m%03d.py" % number: b"m = %d\n" % number for number in range(301)}
    for number in range(1, 261):
        message = "Fixes #9" if number == 255 else f"step {number}"
        files = BASE | (FIX | many if number == 260 else {b"src/a.py": b"step = %d\n" % number})
        head = quarry.upstream.commit(files, parents=(head,), ref="refs/pull/1/head", message=message)
    quarry.tip = quarry.upstream.commit(
        BASE | FIX | many,
        parents=(base, head),
        at=quarry.clock + 86_400,
        message="Merge pull request #1 from a/topic\n\nSplit a",
    )
    path = issues(quarry, {"number": 9, "title": "a is too long", "body": "It can't be read."})
    large = CurateSettings(max_gold_files=302)
    outcome = quarry.outcomes(large, issues=path)["acme__widgets-1"]
    assert isinstance(outcome, Accepted), outcome
    candidate = outcome.value
    assert [link.number for link in candidate.links] == [9]
    assert candidate.statement.issue_numbers == (9,)
    assert len(candidate.gold_files) == 302
    assert candidate.tree_proof is TreeProof.PROVEN
    assert quarry.patches(candidate)[1].count(b"diff --git ") == 302
    rejected = quarry.outcomes(CurateSettings(max_gold_files=301), issues=path)["acme__widgets-1"]
    assert isinstance(rejected, Rejected)
    assert rejected.code is RejectCode.TOO_LARGE
    assert "302" in rejected.message


def test_issue_without_text_in_the_source_is_flagged(quarry):
    quarry.add("Fix a (#1)\n\nCloses #30", BASE | FIX)
    flags = quarry.candidate(issues=issues(quarry, {"number": 99, "title": "T"})).flags
    assert flags == ("issue_text_missing", "statement_from_commits")


def test_statements_from_commits_can_be_forbidden(quarry):
    quarry.add("Fix a (#1)", BASE | FIX)
    outcomes = quarry.outcomes(CurateSettings(statement_from_commits=False))
    assert outcomes["acme__widgets-1"].code is RejectCode.NO_LINKED_ISSUE


# --- the walk ----------------------------------------------------------------------------------------


def fixed(number):
    return BASE | {path: data + b"# %d\n" % number for path, data in FIX.items()}


def fixes(quarry, count):
    for number in range(1, count + 1):
        quarry.add(f"Fix {number} (#{number})", fixed(number))


def numbers(outcomes):
    return [int(key.rsplit("-", 1)[1]) for key in outcomes]


def test_every_pull_request_has_one_outcome_newest_first_and_again_the_same(quarry):
    fixes(quarry, 3)
    quarry.add("Docs (#4)", fixed(3) | {b"docs/a.md": b"new\n"})
    first, second = quarry.outcomes(), quarry.outcomes()
    assert numbers(first) == [4, 3, 2, 1]
    assert first == second


def test_limit_counts_accepted_candidates_and_tells_what_it_passed(quarry):
    fixes(quarry, 3)
    quarry.add("Docs (#4)", fixed(3) | {b"docs/a.md": b"new\n"})
    assert numbers(quarry.outcomes(limit=2)) == [4, 3, 2]


def test_dates_bound_the_merge_day_inclusively(quarry):
    fixes(quarry, 3)  # merged on the second, third and fourth day after the start
    all_days = [item.outcome.value.merged_at.date().isoformat() for item in quarry.items()]
    assert numbers(quarry.outcomes(since=all_days[1], until=all_days[1])) == [2]
    with pytest.raises(ConfigError, match="since"):
        quarry.outcomes(since="last week")


def test_pull_request_asked_for_by_number_is_answered_even_if_it_is_not_there(quarry):
    fixes(quarry, 2)
    quarry.upstream.git("update-ref", "refs/pull/9/head", quarry.upstream.commit({b"x": b"y"}, ref="refs/t"))
    found = quarry.outcomes(pulls=(2, 9, 77))
    assert numbers(found) == [2, 9, 77]
    assert found["acme__widgets-9"].code is RejectCode.BASE_UNKNOWN
    assert "its head is here" in found["acme__widgets-9"].message
    assert "nothing names it" in found["acme__widgets-77"].message


def test_reverted_pull_request_is_told_with_its_revert(quarry):
    fixes(quarry, 1)
    quarry.add(f"Back\n\nThis reverts commit {quarry.tip}.", BASE)
    outcome = quarry.outcomes()["acme__widgets-1"]
    assert (outcome.code, outcome.evidence) == (RejectCode.REVERTED, (f"reverted_by={quarry.tip}",))


def test_what_the_source_says_of_the_licence_is_kept_and_never_judged_by(quarry):
    quarry.add("Fix a (#1)", BASE | FIX)
    settings = quarry.settings(CurateSettings(licences=("permissive",)))
    history = merged_pulls(quarry.upstream.repository, RepoRef(owner="acme", name="widgets"))
    for spdx, code in ((None, RejectCode.LICENCE), ("MIT", None)):
        licences = SimpleNamespace(at=lambda _, spdx=spdx: Licence(spdx=spdx))
        source = GitSource(
            repository=quarry.upstream.repository,
            repo=RepoRef(owner="acme", name="widgets"),
            history=history,
            curate=settings.curate,
            issues=None,
            put_blob=quarry.put,
            policy=read_policy(settings.curate),
            licences=licences,
            reported_licence="MIT",
        )
        (item,) = source.items(PullFilter())
        assert getattr(item.outcome, "code", None) == code
    assert item.outcome.value.licence == Licence(spdx="MIT", reported="MIT")


def test_full_disk_stops_mining_instead_of_failing_every_item(quarry):
    fixes(quarry, 1)
    settings = quarry.settings()

    def put(data):
        raise StorageError("no space")

    with pytest.raises(StorageError):
        list(mine_unit(mine_units(settings)[0], settings, quarry.locator, put))


def test_fault_on_one_pull_request_does_not_cost_the_others(quarry, monkeypatch):
    fixes(quarry, 2)

    def broken(pull, *_):
        if "Fix 2" in (pull.title or ""):
            raise IndexError("a fault of ours")
        return ()

    monkeypatch.setattr("miner.sources.git.link_pull", broken)
    found = quarry.outcomes()
    assert isinstance(found["acme__widgets-1"], Accepted)
    assert found["acme__widgets-2"] == Failed(
        boundary=Boundary.INTERNAL, message="IndexError: a fault of ours"
    )


def test_file_missing_from_a_partial_mirror_rejects_one_pull_request_only(quarry):
    fixes(quarry, 1)
    large = b"binary \x00" * 50
    quarry.add("Fix 2 (#2)", BASE | FIX | {b"tests/data/img.bin": large})
    quarry.add(
        "Fix 3 (#3)", BASE | FIX | {b"tests/data/img.bin": large, b"src/a.py": b"x", b"tests/b.py": b""}
    )
    sha = quarry.upstream.git("hash-object", "--stdin", stdin=large).decode().strip()
    remove_object(quarry.upstream, sha)
    found = quarry.outcomes()
    assert found["acme__widgets-2"].code is RejectCode.MISSING_OBJECTS
    assert isinstance(found["acme__widgets-1"], Accepted)
    assert isinstance(found["acme__widgets-3"], Accepted)


def remove_object(upstream, sha):
    """Make a repository lack one object, as partial mirrors do."""
    packs = sorted((upstream.path / "objects" / "pack").glob("*.pack"))
    contents = [pack.read_bytes() for pack in packs]
    for pack in packs:
        for suffix in (".pack", ".idx", ".rev"):
            pack.with_suffix(suffix).unlink(missing_ok=True)
    for data in contents:
        upstream.git("unpack-objects", "-q", stdin=data)
    (upstream.path / "objects" / sha[:2] / sha[2:]).unlink()


# --- rows --------------------------------------------------------------------------------------------


def row_of(quarry, candidate, **changed):
    tests, gold = quarry.patches(candidate)
    row = {
        "instance_id": candidate.instance_id,
        "repo": "acme/widgets",
        "base_commit": candidate.base_commit,
        "patch": gold.decode(),
        "test_patch": tests.decode(),
        "problem_statement": "a is wrong",
        "created_at": "2021-01-01T00:00:00Z",
    }
    return {name: value for name, value in {**row, **changed}.items() if value is not ...}


def rows_file(quarry, *rows):
    path = quarry.folder / "rows.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def mine_rows(quarry, *rows, **source):
    return quarry.outcomes(kind="rows", rows=rows_file(quarry, *rows), **source)


def test_row_gives_the_same_trees_and_patches_as_the_history(quarry):
    fixes(quarry, 1)
    mined = quarry.candidate()
    outcome = mine_rows(quarry, row_of(quarry, mined))["acme__widgets-1"]
    published = outcome.value
    same = ("base_tree", "before_tree", "after_tree", "gold_patch", "test_patch", "gold_files", "test_files")
    assert [getattr(published, name) for name in same] == [getattr(mined, name) for name in same]
    assert published.tree_proof is TreeProof.NONE
    assert published.statement.kind is StatementKind.PUBLISHED
    assert published.cutoff.isoformat() == "2021-01-01T00:00:00+00:00"


def test_cutoff_of_a_row_is_never_before_its_base(quarry):
    fixes(quarry, 1)
    mined = quarry.candidate()
    outcome = mine_rows(quarry, row_of(quarry, mined, created_at="1999-01-01"))["acme__widgets-1"]
    assert outcome.value.cutoff == quarry.upstream.repository.commit_time(mined.base_commit)


def test_every_bad_row_has_a_code_and_the_others_go_on(quarry):
    fixes(quarry, 1)
    mined = quarry.candidate()
    found = mine_rows(
        quarry,
        row_of(quarry, mined),
        row_of(quarry, mined),
        "{broken",
        row_of(quarry, mined, instance_id="w-3", base_commit="f" * 40),
        row_of(quarry, mined, instance_id="w-4", base_commit=mined.base_tree),
        row_of(quarry, mined, instance_id="w-5", patch="diff --git a/src/a.py b/src/a.py\nnonsense\n"),
        row_of(quarry, mined, instance_id="w-6", test_patch=""),
        row_of(quarry, mined, instance_id="w-7", patch="\n"),
        row_of(quarry, mined, instance_id="w-8", problem_statement=" "),
        row_of(quarry, mined, instance_id="w-9", repo="acme/absent"),
        row_of(quarry, mined, instance_id="w-10", patch=...),
        row_of(quarry, mined, instance_id="w-11", FAIL_TO_PASS="[1]"),
        row_of(quarry, mined, instance_id="w-12", colour="red"),
        row_of(
            quarry,
            mined,
            instance_id="w-13",
            test_patch="diff --git a/tests/data/img.bin b/tests/data/img.bin\n"
            "index 1111111..2222222 100644\n"
            "Binary files a/tests/data/img.bin and b/tests/data/img.bin differ\n",
        ),
    )
    ends = {key: getattr(end, "code", getattr(end, "boundary", None)) for key, end in found.items()}
    assert ends == {
        "acme__widgets-1": None,
        "acme__widgets-1#2": RejectCode.DUPLICATE_ROW,
        "rows.jsonl#3": RejectCode.MALFORMED_ROW,
        "w-3": RejectCode.BASE_UNREACHABLE,
        "w-4": RejectCode.BASE_UNREACHABLE,
        "w-5": RejectCode.CORRUPT_PATCH,
        "w-6": RejectCode.NO_TEST_CHANGE,
        "w-7": RejectCode.NO_SOURCE_CHANGE,
        "w-8": RejectCode.EMPTY_PROBLEM_STATEMENT,
        "w-9": Boundary.GIT,
        "w-10": RejectCode.MALFORMED_ROW,
        "w-11": RejectCode.BAD_TEST_ID,
        "w-12": None,
        "w-13": RejectCode.BINARY_WITHOUT_DATA,
    }
    assert found["w-12"].value.flags == ("unknown_field:colour",)
    assert "rows.jsonl:3" in found["rows.jsonl#3"].message


def test_base_known_only_by_a_pull_ref_is_found_not_replaced_by_a_neighbour(quarry):
    fixes(quarry, 1)
    mined = quarry.candidate()
    lost = quarry.upstream.commit(BASE, ref="refs/pull/9/head", message="base that main forgot")
    found = mine_rows(quarry, row_of(quarry, mined, base_commit=lost))["acme__widgets-1"]
    assert found.value.base_commit == lost


def test_division_of_a_row_stands_and_a_doubtful_one_is_flagged(quarry):
    fixes(quarry, 1)
    tests, gold = quarry.patches(quarry.candidate())
    swapped = row_of(quarry, quarry.candidate(), patch=tests.decode() + gold.decode(), test_patch=...)
    swapped["test_patch"] = (
        "diff --git a/src/b.py b/src/b.py\nnew file mode 100644\n--- /dev/null\n+++ b/src/b.py\n@@ -0,0 +1 @@\n+x\n"
    )
    candidate = mine_rows(quarry, swapped)["acme__widgets-1"].value
    assert candidate.test_files == ("src/b.py",)
    assert "row_split_differs" in candidate.flags


def test_limit_and_repositories_choose_among_rows(quarry):
    fixes(quarry, 1)
    mined = quarry.candidate()
    rows = [row_of(quarry, mined, instance_id=f"w-{n}") for n in range(1, 4)]
    assert numbers(mine_rows(quarry, *rows, limit=2)) == [1, 2]
    assert numbers(mine_rows(quarry, *rows, pulls=(3,))) == [3]
    assert mine_rows(quarry, *rows, repositories=("other/repo",)) == {}


# --- units -------------------------------------------------------------------------------------------


def test_repositories_are_read_with_comments_and_urls_and_each_once(tmp_path):
    path = tmp_path / "repos.txt"
    path.write_text(
        "# ours\nacme/widgets  # good\n\nhttps://github.com/b/two.git\ngit@host.example:c/three\n"
    )
    settings = Settings(source=SourceSettings(repositories=("Acme/Widgets", "a/a"), repositories_file=path))
    assert [unit.key for unit in mine_units(settings)] == [
        "git:a/a",
        "git:Acme/Widgets",
        "git:b/two",
        "git:c/three",
    ]


def test_bad_lines_of_a_repositories_file_are_all_named(tmp_path):
    path = tmp_path / "repos.txt"
    path.write_text("acme/widgets\nnot a repo\nacme\n../..\n")
    with pytest.raises(InputError) as error:
        read_repositories(path)
    assert [line.split("repos.txt:")[1][0] for line in str(error.value).splitlines()] == ["2", "3", "4"]


@pytest.mark.parametrize(
    "text", ["", "a", "/", "a/", "/b", "a/b/c", "a/..", "a b/c", "a/b\n", "-a/b", "a/b;c"]
)
def test_text_that_names_no_repository_is_refused(text):
    assert parse_repository(text) is None


def test_settings_that_name_nothing_to_mine_are_refused(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("# nothing\n")
    for source, error in [
        (SourceSettings(), ConfigError),
        (SourceSettings(repositories=("acme",)), ConfigError),
        (SourceSettings(repositories_file=empty), InputError),
        (SourceSettings(repositories_file=tmp_path / "absent"), InputError),
        (SourceSettings(kind="rows"), ConfigError),
        (SourceSettings(kind="rows", rows=tmp_path / "absent.jsonl"), InputError),
    ]:
        with pytest.raises(error):
            mine_units(Settings(source=source))


def test_missing_repository_is_named(quarry):
    with pytest.raises(RepositoryError, match="absent"):
        quarry.outcomes(repositories=("acme/absent",))


def test_fingerprint_changes_with_refs_issues_and_rows_and_with_nothing_else(quarry):
    fixes(quarry, 1)
    path = issues(quarry, {"number": 30, "title": "T"})

    def now(**source):
        settings = quarry.settings(**source)
        return unit_fingerprint(mine_units(settings)[0], settings, quarry.locator)

    first, with_issues = now(), now(issues=path)
    rows = rows_file(quarry, "{}")
    of_rows = now(kind="rows", rows=rows)
    assert now() == first
    assert len({first, with_issues, of_rows}) == 3
    path.write_text("{}")
    assert now(issues=path) != with_issues
    rows.write_text("{} ")
    assert now(kind="rows", rows=rows) != of_rows
    quarry.upstream.git("update-ref", "refs/pull/1/head", quarry.tip)
    assert now() != first
