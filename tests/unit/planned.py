"""Plans of small source trees: facts in, recipes out, with the interpreters and dates that a test names."""

import textwrap
from datetime import UTC, datetime

from evidence_trees import make_tree

from reconstruct.environment.facts import collect_facts
from reconstruct.environment.plan import plan_recipes
from swequarry.records import BlobHash, Candidate, CommitSha, RepoRef, Statement, StatementKind, TreeSha
from swequarry.sandbox.contract import Interpreter

NULL = "0" * 40


def day(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def pythons(*versions):
    return tuple(Interpreter(version=v, path=f"/x/{v}/bin/python", prefix=f"/x/{v}") for v in versions)


ALL = pythons("3.13.0", "3.12.1", "3.11.7", "3.10.13", "3.9.18", "3.8.18", "3.7.16", "3.6.15")


def candidate(cutoff):
    return Candidate(
        repo=RepoRef(owner="o", name="n"),
        instance_id="o__n-1",
        source="git",
        base_commit=CommitSha(NULL),
        base_tree=TreeSha(NULL),
        before_tree=TreeSha(NULL),
        after_tree=TreeSha(NULL),
        gold_patch=BlobHash("0" * 64),
        test_patch=BlobHash("0" * 64),
        gold_files=(),
        test_files=(),
        cutoff=cutoff,
        statement=Statement(kind=StatementKind.COMMITS, text="x"),
    )


def plan(root, files, date="2022-06-01", *, tests=None, interpreters=ALL, base=None, **options):
    facts = collect_facts(make_tree(root, {k: textwrap.dedent(v) for k, v in files.items()}))
    return plan_recipes(facts, candidate(day(date)), interpreters, day(base or date), tests or {}, **options)


def setup_py(**arguments):
    inner = ", ".join(f"{key}={value!r}" for key, value in {"name": "demo", **arguments}.items())
    return f"from setuptools import setup\nsetup({inner})\n"


WORKFLOW = """
jobs:
  test:
    steps:
      - run: pip install numpy==1.15 alpha unused pytest-mock demo
"""
