"""What becomes of items that are in a benchmark, or only look like it (edge cases B058, B060, B061, B063)."""

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from miner.decontam.boilerplate import without_boilerplate
from miner.decontam.compare import Action, Comparer, Layer
from miner.decontam.duplicates import find_duplicates
from miner.decontam.fingerprint import Fingerprints, make_fingerprints, merged
from miner.decontam.items import Item, ItemProblem, Part, change_hash, make_item, read_items
from miner.decontam.shipped import benchmark_path, shipped_names
from swequarry.errors import InputError

MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated\n"
    "documentation files, to deal in the Software without restriction. The above copyright notice and this permission\n"
    'notice shall be included. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND.'
)
FRAME = 'Traceback (most recent call last):\n  File "/usr/lib/python3.9/runpy.py", line 197, in _run_module_as_main\n    return _run_code(code, main_globals, None)'
SENTENCE = (
    "rounding a negative amount drops the last digit whenever the currency has three decimals and none else"
)
STATEMENT = f"## Steps to reproduce\n\n{FRAME}\n\n{MIT}\n\nIn our shop {SENTENCE}, which is a pity.\n"
STATEMENT += " ".join(f"Customer {n} told us of order {n + 7}." for n in range(30))


def patch(lines: list[str], path: str = "shop/money.py", at: int = 10) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{at},1 +{at},{len(lines)} @@\n-old\n{body}"


FIX = [f"    amounts[{n}] = rounded(amounts[{n}], currency.places + {n})" for n in range(6)]
OTHER = [f"    names.append(self.lookup(key_{n}, default=label_{n}))" for n in range(6)]


def row(number: int, statement: str, lines: list[str], repo: str = "bench/shop", **more) -> dict:
    return {
        "instance_id": f"{repo.replace('/', '__')}-{number}",
        "repo": repo,
        "base_commit": f"{number:040x}",
        "patch": patch(lines),
        "test_patch": "",
        "problem_statement": statement,
    } | more


BENCHMARK = make_fingerprints([make_item(row(1, STATEMENT, FIX), "-")], "bench")


def decide(fields: dict, fingerprints=BENCHMARK, **options):
    (decision,) = Comparer(fingerprints, **options).decisions([make_item(fields, "-")])
    return decision


def test_boilerplate_in_common_says_nothing():
    shared = f"## Steps to reproduce\n\n{FRAME}\n\n{MIT}\n\nThe colours of the map are wrong when zoomed.\n"
    assert decide(row(7, shared, OTHER, repo="me/map")).action is Action.KEEP


def test_a_distinctive_sentence_in_common_is_for_a_person():
    decision = decide(
        row(
            7,
            f"I read elsewhere that {SENTENCE}. "
            + " ".join(f"Map {n} is green at street {n + 3}." for n in range(40)),
            OTHER,
            repo="me/map",
        )
    )
    assert decision.action is Action.REVIEW
    assert (decision.matches[0].layer, decision.matches[0].item) == (Layer.PASSAGE, "bench__shop-1")
    assert SENTENCE in decision.matches[0].span


def test_the_same_change_under_other_words_is_removed_and_named():
    decision = decide(row(7, "Something else entirely.", FIX, repo="me/map"))
    assert decision.action is Action.REMOVE
    assert {match.layer for match in decision.matches} >= {Layer.CHANGE, Layer.CONTAINED}
    assert "rounded(amounts" in str(next(m for m in decision.matches if m.layer is Layer.CONTAINED))


def test_the_change_is_found_inside_a_larger_one():
    decision = decide(row(7, "Another text.", [*OTHER, *FIX, *OTHER], repo="me/map"))
    assert (decision.action, decision.matches[0].layer) == (Action.REMOVE, Layer.CONTAINED)
    assert decision.matches[0].score == 1.0


def test_an_instance_is_known_by_name_pull_or_base():
    assert decide(row(1, "x", OTHER)).matches[0].layer is Layer.INSTANCE
    renamed = row(1, "x", OTHER, instance_id="other", pull_number=1, base_commit="f" * 40)
    assert decide(renamed).matches[0].layer is Layer.INSTANCE
    same_base = row(2, "x", OTHER, base_commit=f"{1:040x}")
    assert (decide(same_base).action, decide(same_base).matches[0].layer) == (Action.REVIEW, Layer.BASE)


def test_a_repository_of_a_benchmark_is_what_the_policy_says():
    fields = row(2, "x", OTHER, repo="Bench/Shop")
    assert decide(fields).action is Action.KEEP
    assert decide(fields).matches[0].layer is Layer.REPOSITORY
    assert decide(fields, repository=Action.REMOVE).action is Action.REMOVE


def test_a_backport_is_the_same_change_and_another_file_is_not():
    assert change_hash(patch(FIX).encode()) == change_hash(patch(FIX, at=13).encode())
    assert change_hash(patch(FIX).encode()) != change_hash(patch(FIX, path="a.py").encode())
    assert change_hash(b"no patch") is None


def test_fingerprints_survive_their_file_and_hold_no_text(tmp_path):
    path = tmp_path / "bench.npz"
    BENCHMARK.save(path)
    loaded = Fingerprints.load(path)
    fields = row(7, STATEMENT, OTHER, repo="me/map")
    assert decide(fields, loaded) == decide(fields)
    assert decide(fields).action is Action.REMOVE
    assert b"rounding" not in path.read_bytes()


def test_fingerprints_of_other_parameters_are_refused_before_any_answer(tmp_path):
    path = tmp_path / "bench.npz"
    other = dataclasses.replace(BENCHMARK.parameters, permutations=256, seed=2)
    dataclasses.replace(BENCHMARK, parameters=other).save(path)
    with pytest.raises(
        InputError, match="permutations is 256 there and 128 here, seed is 2 there and 1 here"
    ):
        Fingerprints.load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"plain"])
def test_a_broken_file_of_fingerprints_is_named(tmp_path, content):
    path = tmp_path / "bench.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bench\.npz"):
        Fingerprints.load(path)


def test_benchmarks_are_told_apart_when_they_are_merged():
    second = make_fingerprints([make_item(row(5, "Short.", OTHER, repo="b/b"), "-")], "second")
    decision = decide(row(7, "y", OTHER, repo="me/map"), merged([BENCHMARK, second]))
    assert {match.benchmark for match in decision.matches} == {"second"}
    assert (
        decide(row(7, "y", FIX, repo="me/map"), merged([second, BENCHMARK])).matches[0].benchmark == "bench"
    )


def test_what_many_repositories_have_is_left_out_of_fingerprints():
    items = [make_item(row(n, "x", [*FIX, f"    only_{n} = {n}"], repo=f"r{n}/x"), "-") for n in range(5)]
    assert decide(row(7, "y", FIX, repo="me/map"), make_fingerprints(items[:3], "b")).action is Action.REMOVE
    many = decide(row(7, "y", [*FIX, "    other = 1"], repo="me/map"), make_fingerprints(items, "b"))
    assert not [match for match in many.matches if match.layer is Layer.CONTAINED]


def test_nobody_dies_of_broken_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [
        json.dumps(row(1, "cat", FIX)),
        "{",
        "[1]",
        json.dumps({"repo": "a/b"}),
        "",
        json.dumps({"note": "hello"}),
    ]
    path.write_text("\n".join(lines))
    read = list(read_items(path))
    assert [isinstance(one, ItemProblem) for one in read] == [False, True, True, True, False]
    assert read[4].parts == {Part.TEXT: b"hello"}
    assert read[4].id == "rows.jsonl:5"


def test_an_unknown_column_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "x"}\n')
    with pytest.raises(InputError, match="'b'"):
        list(read_items(path, ["b"]))


def test_parquet_is_read_like_jsonl(tmp_path):
    rows = [row(n, f"statement {n}", FIX) for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert list(read_items(tmp_path / "rows.parquet")) == list(read_items(tmp_path / "rows.jsonl"))


def test_short_texts_are_duplicates_only_of_themselves(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": n, "text": t}) + "\n"
            for n, t in enumerate(["cat", "dog", "cat", "", "Crash on start"], 1)
        )
    )
    assert {number: found.of for number, found in find_duplicates(path).items()} == {2: "1"}


def test_duplicates_are_the_same_twice_and_keep_the_first(tmp_path):
    path = tmp_path / "rows.jsonl"
    long = " ".join(f"word{n}" for n in range(100))
    path.write_text(
        "".join(
            json.dumps({"id": n, "text": t}) + "\n" for n, t in enumerate([long, long + " more", long], 1)
        )
    )
    first = find_duplicates(path)
    assert first == find_duplicates(path)
    assert {number: found.of for number, found in first.items()} == {1: "1", 2: "1"}


def test_headings_and_lists_of_versions_are_taken_off():
    text = "### Expected behavior\n\nIt works.\n\npython: 3.9\npandas: 1.0\nnumpy: 1.2\nscipy: None\nxarray: 0.15\n"
    assert without_boilerplate(text).split() == ["It", "works."]


def test_an_item_without_text_isnt_one():
    assert make_item({"id": "x"}, "-") is None
    assert isinstance(make_item({"text": "x"}, "f:1"), Item)


def test_a_list_of_repositories_knows_forks_and_new_names_by_their_first_commits(tmp_path):
    known = make_item({"id": "acme/widgets-2", "repo": "acme/widgets-2", "roots": ["a" * 40]}, "-")
    assert (known.pull, known.parts) == (None, {})
    path = tmp_path / "list.npz"
    make_fingerprints([known], "list").save(path)
    comparer = Comparer(Fingerprints.load(path), Action.REVIEW)
    assert comparer.knows_roots
    others = [
        Item(id="x", parts={}, repo="ACME/widgets-2"),
        Item(id="y", parts={}, repo="fork/gadgets", roots=("b" * 40, "a" * 40)),
        Item(id="z", parts={}, repo="other/gadgets", roots=("c" * 40,)),
    ]
    decisions = list(comparer.decisions(others))
    assert [one.action for one in decisions] == [Action.REVIEW, Action.REVIEW, Action.KEEP]
    assert decisions[1].matches[0].item == "acme/widgets-2"


def test_every_shipped_list_can_be_read_by_its_name_and_is_made_from_the_file_beside_it():
    folder = Path(__file__).parents[2] / "configs" / "benchmarks"
    assert shipped_names() == tuple(sorted(path.stem for path in folder.glob("*.jsonl"))) != ()
    for name in shipped_names():
        stored = Fingerprints.load(benchmark_path(Path(name)))
        rows = [item for item in read_items(folder / f"{name}.jsonl") if isinstance(item, Item)]
        assert [(k.repo, k.roots) for k in stored.items] == [(row.repo, row.roots) for row in rows]


def test_a_file_of_ones_own_comes_before_a_shipped_list(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = Path(shipped_names()[0])
    assert benchmark_path(name).suffix == ".npz"
    name.write_text("{}")
    assert benchmark_path(name) == name
    assert benchmark_path(Path("folder") / name) == Path("folder") / name
