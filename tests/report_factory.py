"""A run as a report shows it: invented repositories, issues, patches and logs of realistic shape."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from task_factory import Blobs, make_task, with_measurements

from swequarry.outcome import Boundary, RejectCode
from swequarry.records import (
    ClosureAudit,
    ContentHash,
    EnvironmentTry,
    Evidence,
    Licence,
    RepoRef,
    Snapshot,
    StatementKind,
    TestId,
)
from swequarry.report.model import (
    FailureEntry,
    RejectEntry,
    ReportData,
    RunInfo,
    StageInfo,
    TaskEntry,
    Timing,
)

STAGES = (
    StageInfo(name="mine", title="Link and curate"),
    StageInfo(name="reconstruct", title="Reconstruct patches"),
    StageInfo(name="snapshot", title="Seal the snapshot"),
    StageInfo(name="environment", title="Build the environment"),
    StageInfo(name="verify", title="Verify by running"),
)
REPOS = (
    ("tidewater", "ledgerline", "MIT", 0.34),
    ("northbeam", "fieldnotes", "BSD-3-Clause", 0.27),
    ("quietlabs", "parsley-tree", "Apache-2.0", 0.22),
    ("openharbor", "geogrid", "BSD-3-Clause", 0.31),
    ("saltmarsh", "retry-kit", "MIT", 0.18),
    ("lantern-works", "a-repository-with-a-remarkably-long-name-for-a-library", None, 0.12),
)
TITLES = (
    "Parser drops the last row when the file has no final newline",
    "`merge()` silently keeps stale keys when both sides are empty",
    "TypeError: unhashable type when grouping by a list column",
    "Retry budget is reset by a redirect",
    "Coordinates are swapped for grids in the southern hemisphere",
    "Schema validation accepts booleans where an integer is required",
    "Deadlock when the writer closes before the reader has started",
    "Timezone is lost when round-tripping through `to_dict`",
)
BODY = """{title}

I'm on version {version} and the following fails:

```python
from {module} import load

table = load("rows.csv")
assert len(table) == 3  # AssertionError: 2 != 3
```

**Expected:** three rows, the last one included.
**Actual:** the last row is gone, without a warning.

| file | rows | seen |
|---|---:|---:|
| `rows.csv` | 3 | 2 |
| `rows_newline.csv` | 3 | 3 |

It started with 1.3; see [the discussion](https://example.org/threads/42). I think `_split_rows` only flushes at a newline.
"""
GOLD = """diff --git a/src/{module}/reader.py b/src/{module}/reader.py
index 1f0c2d3..9a8b7c6 100644
--- a/src/{module}/reader.py
+++ b/src/{module}/reader.py
@@ -41,12 +41,16 @@ class Reader:
     def _split_rows(self, chunk: str) -> Iterator[str]:
         buffer = self._rest
         for char in chunk:
             if char == "\\n":
                 yield buffer
                 buffer = ""
             else:
                 buffer += char
-        self._rest = buffer
+        if self._at_end and buffer:
+            yield buffer
+            buffer = ""
+        self._rest = buffer

     def close(self) -> None:
-        self._stream.close()
+        self._at_end = True
+        self._stream.close()  # a long comment that goes on well past the usual width of a line so that this one needs to scroll
diff --git a/CHANGES.md b/CHANGES.md
index 2b1c0d9..7e6f5a4 100644
--- a/CHANGES.md
+++ b/CHANGES.md
@@ -1,3 +1,4 @@
 # Changes

+- The last row is kept when the file has no final newline.
 - Faster start.
"""
TESTS = """diff --git a/tests/test_reader.py b/tests/test_reader.py
index 3c4d5e6..8f7a6b5 100644
--- a/tests/test_reader.py
+++ b/tests/test_reader.py
@@ -12,3 +12,10 @@ def test_header_only():
     assert read("a,b\\n") == []


+@pytest.mark.parametrize("end", ["", "\\n", "\\r\\n"])
+def test_last_row_is_kept(end):
+    assert len(read("a\\n1\\n2" + end)) == 2
+
+
+def test_close_flushes():
+    assert read_all("x") == ["x"]
diff --git a/tests/data/rows.bin b/tests/data/rows.bin
new file mode 100644
index 0000000..5d3c1b2
GIT binary patch
literal 16
Xcmb=JVPIf@U|?VXq5uE?FaQ7m000310RR91

literal 0
HcmV?d00001

"""
REJECTS = (
    (RejectCode.NO_TEST_CHANGE, "mine", "the pull request changes 3 files, none of them a test", 34),
    (
        RejectCode.NO_FAIL_TO_PASS,
        "verify",
        "12 tests ran in every state; none failed before and passed after",
        22,
    ),
    (RejectCode.BUILD_FAILED, "environment", "4 recipes tried; the last one stopped at building a wheel", 17),
    (RejectCode.NO_LINKED_ISSUE, "mine", "no closing reference in title, body or commit messages", 15),
    (RejectCode.NO_SOURCE_CHANGE, "mine", "only documentation and tests change", 11),
    (RejectCode.NEEDS_NETWORK, "verify", "every test that the fix turns resolves a host name", 6),
    (RejectCode.UNSTABLE, "verify", "the one test that the fix turns gave mixed results", 5),
    (RejectCode.REVERTED, "mine", "reverted two days later on the base branch", 4),
    (RejectCode.TREE_MISMATCH, "reconstruct", "base + test patch + gold patch isn't the merged tree", 3),
    (RejectCode.TEST_TIMEOUT, "verify", "the run reached the wall limit of 1800 s", 2),
)
EVIDENCE = {
    RejectCode.BUILD_FAILED: (
        "recipe 4: python 3.7, editable, extras [test]",
        "error: subprocess-exited-with-error",
        '  File "setup.py", line 31, in <module>',
        "ModuleNotFoundError: No module named 'numpy.distutils'",
        "\x1b[31mERROR\x1b[0m: Failed building wheel",
    ),
    RejectCode.NO_FAIL_TO_PASS: ("tests/test_reader.py::test_last_row: passed before, passed after",),
}


def _snapshot(repo: RepoRef, base) -> Snapshot:
    checks = ("no later object", "no other ref", "no remote", "no reflog", "no alternate", "fix absent")
    audit = ClosureAudit(objects=18231, checks=checks)
    return Snapshot(
        repo=repo, base_commit=base, base_tree="c" * 40, history="full", tags=("v1.0", "v1.1"), audit=audit
    )


def _task(
    blobs: Blobs, rng: random.Random, repo_row, number: int, kind: StatementKind, when: datetime
) -> TaskEntry:
    owner, name, licence, _ = repo_row
    repo = RepoRef(owner=owner, name=name)
    module = name.replace("-", "_")
    title = rng.choice(TITLES)
    fail = tuple(
        f"tests/test_reader.py::test_last_row_is_kept[{end}]"
        for end in ("", "\\n", "\\r\\n")[: rng.randint(1, 3)]
    )
    passing = tuple(
        f"tests/{part}/test_{part}.py::Test{part.title()}::test_case_{i}"
        for part in ("reader", "writer", "schema")
        for i in range(rng.randint(2, 40))
    )
    flaky = (
        (
            "tests/test_reader.py::test_timing[a fairly long parameter id with spaces]",
            "mixed outcomes after the fix",
        ),
    )
    task = make_task(
        blobs,
        number=number,
        repo=repo,
        gold=GOLD.format(module=module).encode(),
        test=TESTS.encode(),
        fail_to_pass=fail,
        pass_to_pass=passing,
        quarantined=flaky if rng.random() < 0.3 else (),
        statement=BODY.format(title=title, version=f"1.{rng.randint(0, 9)}", module=module),
        kind=kind,
        licence=Licence(spdx=licence, files=("LICENSE",), evidence="LICENSE") if licence else None,
        test_files=("tests/test_reader.py",),
        recipe={"extras": ("test",), "requirements": ("pytest", "hypothesis")},
        candidate={"merged_at": when, "gold_files": (f"src/{module}/reader.py",)},
    )
    recipe = ContentHash("5" * 64)
    tries = (
        EnvironmentTry(
            recipe=recipe,
            result="build failed",
            rule="old-setuptools",
            decisive_lines=("AttributeError: module 'setuptools' has no attribute 'convert_2to3'",),
        ),
        EnvironmentTry(recipe=recipe, result="tests run"),
    )
    evidence = (
        Evidence(key="python_requires", value=">=3.8", path="setup.cfg", line=24),
        Evidence(key="ci_python", value="3.11", path=".github/workflows/test.yml", line=17),
    )
    environment = replace(
        task.environment, tries=tries if rng.random() < 0.4 else tries[1:], evidence=evidence
    )
    causes = tuple((TestId(t), "AssertionError: assert 1 == 2") for t in fail)
    task = replace(task, environment=environment, verification=replace(task.verification, causes=causes))
    if rng.random() < 0.8:
        task = with_measurements(task, blobs, survivors=rng.randint(0, 4))
    return TaskEntry(
        task=task,
        snapshot=_snapshot(repo, task.initial_state.base_commit),
        durations_s={"snapshot": 1.2, "environment": rng.uniform(9, 80), "verify": rng.uniform(4, 60)},
        left_out="statement_from_commits" if kind is StatementKind.COMMITS else None,
    )


def make_report(tasks: int = 37, scale: int = 1, seed: int = 5) -> tuple[ReportData, Blobs]:
    """A report with `tasks` tasks and about 119 * `scale` rejects, and the blobs that it needs."""
    rng, blobs = random.Random(seed), Blobs()
    start = datetime(2026, 11, 28, 21, 4, tzinfo=UTC)
    entries, rejects, failures, timings = [], [], [], []
    for index in range(tasks):
        row = rng.choices(REPOS, weights=[r[3] for r in REPOS])[0]
        kind = StatementKind.COMMITS if rng.random() < 0.16 else StatementKind.ISSUE
        when = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=rng.randint(0, 700))
        entries.append(_task(blobs, rng, row, 100 + index * 7, kind, when))
    for code, stage, message, count in REJECTS:
        for _ in range(count * scale):
            owner, name, *_rest = rng.choice(REPOS)
            number = rng.randint(100, 99999)
            rejects.append(
                RejectEntry(
                    item=f"{owner}__{name}-{number}",
                    repo=f"{owner}/{name}",
                    stage=stage,
                    code=code,
                    message=message,
                    evidence=EVIDENCE.get(code, (f"src/{name}/core.py", f"src/{name}/io.py")),
                )
            )
    for index in range(4 * scale):
        owner, name, *_rest = REPOS[index % len(REPOS)]
        failures.append(
            FailureEntry(
                item=f"{owner}__{name}-{9000 + index}",
                repo=f"{owner}/{name}",
                stage="environment",
                boundary=Boundary.INDEX,
                message="the package index answered 503 five times in a row",
                attempts=3,
                evidence=("GET /simple/hatchling/ -> 503",),
            )
        )
    for entry in entries:
        timings += [
            Timing(stage=s, item=entry.task.instance_id, seconds=v) for s, v in entry.durations_s.items()
        ]
    run = RunInfo(
        title="Six libraries, 2023 to 2024",
        version="0.1.0",
        command="swequarry run configs/six.yaml",
        backend="bubblewrap",
        started_at=start,
        ended_at=start + timedelta(minutes=52, seconds=11),
        dataset_path="quarry/dataset",
        dataset_sha256="7c0e6f5d" * 8,
        settings={"workers": 2, "source": {"kind": "git", "repositories": [f"{r[0]}/{r[1]}" for r in REPOS]}},
        expected=len(entries) + len(rejects) + len(failures),
    )
    data = ReportData(
        run=run,
        stages=STAGES,
        tasks=tuple(entries),
        rejects=tuple(rejects),
        failures=tuple(failures),
        timings=tuple(timings),
    )
    return data, blobs
