"""Suites that aren't pytest's, in real sandboxes: plain unittest, and a Django project from the index."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

import pytest

from reconstruct.environment.builder import Built, Workshop, build
from reconstruct.environment.facts import collect_facts
from reconstruct.environment.plan import plan_recipes
from swequarry.config import EnvironmentSettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import IndexUnavailableError
from swequarry.records import (
    BlobHash,
    Candidate,
    CommitSha,
    Recipe,
    RepoRef,
    Statement,
    StatementKind,
    TreeSha,
    sha256_hex,
)
from swequarry.sandbox.contract import Limits
from swequarry.sandbox.index_proxy import IndexSource
from swequarry.verify.runner import RunOptions, RunResult, run_tests
from tests.integration.conftest import Bench, open_bench, skip_or_fail

DAY = datetime(2023, 6, 1, tzinfo=UTC)
LIMITS = Limits(wall_s=300, memory_bytes=1 << 30, processes=128, disk_bytes=2 << 30, tmp_bytes=1 << 30)
CANDIDATE = Candidate(
    repo=RepoRef(owner="acme", name="shop"), instance_id="acme__shop-1", source="git",
    base_commit=CommitSha("1" * 40), base_tree=TreeSha("2" * 40), before_tree=TreeSha("3" * 40),
    after_tree=TreeSha("4" * 40), gold_patch=BlobHash("5" * 64), test_patch=BlobHash("6" * 64),
    gold_files=("shop/models.py",), test_files=("shop/tests.py",), cutoff=DAY,
    statement=Statement(kind=StatementKind.ISSUE, text="x"),
)  # fmt: skip


def delta(files: dict[str, str]) -> TreeDelta:
    contents = {name.encode(): FileContent(data=dedent(text).encode()) for name, text in files.items()}
    return TreeDelta(files=contents)


def found(result: RunResult) -> dict[str, str]:
    return {one.id: one.outcome.value for one in result.report.results}


def test_unittest_needs_nothing_installed_and_survives_a_crash(bench: Bench) -> None:
    suite = """
        import os, socket, time, unittest
        class T(unittest.TestCase):
            def test_1(self):
                '''A docstring.'''
            def test_2(self): os.kill(os.getpid(), 11)
            def test_3(self): socket.getaddrinfo("host.invalid", 80)
            def test_4(self): time.sleep(60)
    """
    recipe = Recipe(
        python="3", cutoff=DAY, test_framework="unittest", test_command=("python", "-m", "unittest")
    )
    files, options = delta({"tests/test_a.py": suite}), RunOptions(test_timeout_s=3)
    result = run_tests(bench.backend, bench.world, files, ["tests/test_a.py"], recipe, options, LIMITS)
    assert found(result) == {
        "test_1 (test_a.T)": "passed", "test_2 (test_a.T)": "crashed",
        "test_3 (test_a.T)": "failed", "test_4 (test_a.T)": "timeout",
    }  # fmt: skip
    assert "(network: " in result.report.results[2].detail


PROJECT = {
    "requirements.txt": "Django==4.2.1\n",
    "manage.py": """
        import os, sys
        if __name__ == "__main__":
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_settings")
            from django.core.management import execute_from_command_line
            execute_from_command_line(sys.argv)
    """,
    "site_settings.py": """
        SECRET_KEY = "x"
        INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "shop"]
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
        DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
    """,
    "shop/__init__.py": "",
    "shop/models.py": """
        from django.db import models
        class Item(models.Model):
            name = models.CharField(max_length=20)
            def __str__(self): return self.name
    """,
}
TESTS = """
    from django.test import SimpleTestCase, TestCase
    from shop.models import Item
    class Stored(TestCase):
        @classmethod
        def setUpTestData(cls): cls.item = Item.objects.create(name="bolt")
        def test_name(self):
            '''A docstring.'''
            self.assertEqual(str(Item.objects.get()), "bolt")
        def test_fails(self): self.assertEqual(Item.objects.count(), 2)
        def test_parts(self):
            for part in (1, 2):
                with self.subTest(part=part): self.assertEqual(part, 1)
    class Broken(TestCase):
        @classmethod
        def setUpTestData(cls): Item.objects.get(name="nut")
        def test_never(self): pass
    class Plain(SimpleTestCase):
        def test_plain(self): pass
"""


@pytest.mark.index
@pytest.mark.timeout(600)
def test_django_project_is_built_and_run_by_its_own_manage_py(tmp_path: Path) -> None:
    tree, blobs = tmp_path / "tree", {}
    for name, text in PROJECT.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(dedent(text))
    with open_bench("bubblewrap") as bench:
        settings = EnvironmentSettings()
        source = IndexSource(
            cache=tmp_path / "index", index_url=settings.index_url, ca_bundle=settings.ca_bundle
        )

        def put(data: bytes) -> BlobHash:
            blobs[sha256_hex(data)] = data
            return BlobHash(sha256_hex(data))

        recipe = plan_recipes(collect_facts(tree), CANDIDATE, [bench.python], DAY, {})[0]
        assert recipe.test_command == ("python", "manage.py", "test", "--noinput")
        workshop = Workshop(backend=bench.backend, index=source, put_blob=put, limits=LIMITS)
        try:
            built = build(recipe, bench.backend.import_tree(tree, "shop"), bench.python, workshop)
        except IndexUnavailableError as error:
            skip_or_fail("index", str(error))
        assert isinstance(built, Built), built
        run = run_tests(
            bench.backend, built.world, delta({"shop/tests.py": TESTS}), ["shop/tests.py"], recipe,
            RunOptions(watch=("shop/models.py",)), replace(LIMITS, disk_bytes=256 << 20),
        )  # fmt: skip
        assert found(run) == {
            "test_never (shop.tests.Broken)": "error",
            "test_fails (shop.tests.Stored)": "failed",
            "test_name (shop.tests.Stored)": "passed",
            "test_parts (shop.tests.Stored)": "failed",
            "test_plain (shop.tests.Plain)": "passed",
        }
        assert [(origin.name, origin.inside) for origin in run.origins] == [("shop.models", True)]
        for key in (built.world.key, "shop"):
            bench.backend.remove_world(key)
