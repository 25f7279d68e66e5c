"""The dataset folder: whole, replaced whole, the same bytes for the same tasks, nothing silently left out."""

import json
import random

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_factory import Blobs, make_task, with_measurements

from swequarry.config import ExportSettings
from swequarry.errors import InputError, StorageError
from swequarry.export import folder as folder_module
from swequarry.export.columns import RowForm, arrow_schema, from_columns, read_test_list, to_columns
from swequarry.export.interface import ImageReference, Surroundings
from swequarry.export.manifest import dataset_hash
from swequarry.export.reader import FileProblem, check_dataset, read_rows, read_tasks
from swequarry.export.rows import Row, make_row
from swequarry.export.swebench import SwebenchExporter
from swequarry.records import StatementKind


def write(blobs, tasks, destination, **settings):
    return SwebenchExporter().write(tasks, blobs.get_blob, destination, ExportSettings(**settings))


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_same_tasks_in_any_order_give_same_bytes_of_every_file(tmp_path):
    blobs = Blobs()
    tasks = [make_task(blobs, number=n, statement=f"crash {n}") for n in range(12)]
    write(blobs, tasks, tmp_path / "a")
    random.Random(3).shuffle(tasks)
    write(blobs, tasks, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_every_given_task_is_a_row_or_left_out_with_reason(tmp_path):
    blobs = Blobs()
    tasks = [
        make_task(blobs, number=1),
        make_task(blobs, number=2, kind=StatementKind.COMMITS),
        make_task(blobs, number=3, gold=b"diff --git a/a b/a\n+caf\xe9\n"),
        make_task(blobs, number=4, fail_to_pass=("t.py::t[a - b]",)),
    ]
    write(blobs, tasks, tmp_path / "d")
    manifest = manifest_of(tmp_path / "d")
    assert manifest["counts"] == {
        "given": 4,
        "rows": 1,
        "left_out": 3,
        "left_out_by_reason": {
            "no_fail_to_pass_survives_parser": 1,
            "patch_not_utf8": 1,
            "statement_from_commits": 1,
        },
    }
    reasons = {item["instance_id"]: item["reason"] for item in manifest["left_out"]}
    assert reasons == {
        "acme__widgets-2": "statement_from_commits",
        "acme__widgets-3": "patch_not_utf8",
        "acme__widgets-4": "no_fail_to_pass_survives_parser",
    }
    assert {t.instance_id for t in read_tasks(tmp_path / "d")} == {
        "acme__widgets-1",
        "acme__widgets-3",
        "acme__widgets-4",
    }


def test_what_was_measured_of_tests_is_in_the_row_and_changes_no_hash(tmp_path):
    blobs = Blobs()
    plain = make_task(blobs)
    measured = with_measurements(plain, blobs)
    assert measured.content_hash() == plain.content_hash()
    write(blobs, [measured], tmp_path / "d")
    write(blobs, [plain], tmp_path / "e")
    assert manifest_of(tmp_path / "d")["dataset_sha256"] == manifest_of(tmp_path / "e")["dataset_sha256"]
    (row,) = read_rows(tmp_path / "d" / "data" / "lists.parquet")
    assert row.strength == pytest.approx(2 / 3)
    assert (row.wrong_fixes.hunks_needed, row.wrong_fixes.hunks, row.wrong_fixes.not_tried) == (1, 1, 1)
    assert [one.diff.startswith("diff --git") for one in row.wrong_fixes.survivors] == [True]
    (bomb,) = row.stability.unstable
    assert (bomb.reason, bomb.runs, bomb.passes) == ("time", 4, 2)
    assert {one.perturbation: one.outcomes for one in bomb.outcomes}["year_ahead"] == ("failed", "failed")
    assert list((tmp_path / "d" / "records" / "stability").iterdir())
    assert not list(check_dataset(tmp_path / "d"))


def test_statement_from_commits_is_let_in_only_when_asked(tmp_path):
    blobs = Blobs()
    task = make_task(blobs, kind=StatementKind.COMMITS)
    write(blobs, [task], tmp_path / "d", include_statement_from_commits=True)
    (row,) = read_rows(tmp_path / "d/data/lists.jsonl")
    assert row.statement_kind == "commits"
    assert manifest_of(tmp_path / "d")["counts"]["left_out"] == 0


def test_dataset_hash_is_over_sorted_task_hashes(tmp_path):
    blobs = Blobs()
    tasks = [make_task(blobs, number=n) for n in (2, 1)]
    write(blobs, tasks, tmp_path / "d")
    expected = dataset_hash(t.content_hash() for t in reversed(tasks))
    assert manifest_of(tmp_path / "d")["dataset_sha256"] == expected


@pytest.mark.parametrize("name", ["lists.jsonl", "strings.jsonl", "lists.parquet", "strings.parquet"])
def test_rows_come_back_exactly_from_every_file(tmp_path, name):
    blobs = Blobs()
    ids = ("t.py::t[a]", 't.py::t["b"]', "t.py::t[it's]", "t.py::t[x,y]", "t.py::t[é☕]", "t.py::t[\\u2028]")
    tasks = [
        make_task(
            blobs,
            number=n,
            fail_to_pass=ids,
            pass_to_pass=(),
            statement="CRLF\r\nNEL\x85 LS\u2028 FF\x0c <script>",
            gold=b"diff --git a/a b/a\n-a\r\n+b\r\n \x0c\n+\xe2\x80\xa8\n",
            quarantined=(("t.py::t_flaky", "mixed outcomes"),),
        )
        for n in range(3)
    ]
    write(blobs, tasks, tmp_path / "d")
    assert read_rows(tmp_path / "d/data" / name) == tuple(make_row(t, blobs.get_blob) for t in tasks)


def test_jsonl_row_is_one_line_even_for_readers_that_split_at_unicode_breaks(tmp_path):
    blobs = Blobs()
    write(blobs, [make_task(blobs, statement="a\u2028b\x85c\x0cd\x1ee")], tmp_path / "d")
    assert len((tmp_path / "d/data/lists.jsonl").read_text().splitlines()) == 1


def test_empty_lists_keep_their_type_in_parquet():
    schema = arrow_schema(RowForm.LISTS)
    assert not [f.name for f in schema if "null" in str(f.type)]
    assert str(schema.field("PASS_TO_PASS").type).startswith("list<")
    assert str(arrow_schema(RowForm.STRINGS).field("PASS_TO_PASS").type) == "string"


def test_dataset_without_tasks_is_written_and_read(tmp_path):
    write(Blobs(), [], tmp_path / "d")
    assert read_rows(tmp_path / "d/data/lists.parquet") == ()
    assert check_dataset(tmp_path / "d") == ()


def test_existing_dataset_is_replaced_whole(tmp_path):
    blobs = Blobs()
    write(blobs, [make_task(blobs, number=1, recipe={"extras": ("a",)})], tmp_path / "d")
    write(blobs, [make_task(blobs, number=2)], tmp_path / "d")
    fresh = write(blobs, [make_task(blobs, number=2)], tmp_path / "e")
    assert contents(tmp_path / "d") == contents(tmp_path / "e")
    assert sorted(contents(tmp_path / "d")) == [file.path for file in fresh]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "e"]


def test_folder_that_is_no_dataset_is_never_replaced(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="isn't a dataset"):
        write(Blobs(), [], tmp_path / "home")
    assert (tmp_path / "home/thesis.txt").read_text() == "years of work"


def test_missing_blob_leaves_earlier_dataset_as_it_was(tmp_path):
    blobs = Blobs()
    write(blobs, [make_task(blobs, number=1)], tmp_path / "d")
    before = contents(tmp_path / "d")

    def gone(key):
        raise StorageError(f"blob {key} is gone")

    with pytest.raises(StorageError):
        SwebenchExporter().write([make_task(blobs, number=2)], gone, tmp_path / "d", ExportSettings())
    assert contents(tmp_path / "d") == before
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def _run_out_of_space(destination):
    with folder_module.replaced_folder(destination) as work:
        (work / "half").write_text("half")
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("exchange_works", [True, False])
def test_error_while_writing_leaves_no_trace(tmp_path, monkeypatch, exchange_works):
    blobs = Blobs()
    if not exchange_works:
        monkeypatch.setattr(folder_module, "_exchange", lambda *_: False)
    write(blobs, [make_task(blobs, number=1)], tmp_path / "d")
    with pytest.raises(StorageError, match="No space left"):
        _run_out_of_space(tmp_path / "d")
    assert check_dataset(tmp_path / "d") == ()
    write(blobs, [make_task(blobs, number=2)], tmp_path / "d")
    assert check_dataset(tmp_path / "d") == ()
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def test_leftover_of_killed_writer_is_removed_and_that_of_live_one_kept(tmp_path):
    host = folder_module.socket.gethostname()
    dead, live, foreign = (
        tmp_path / f".d.{host}.4194999.tmp",
        tmp_path / f".d.{host}.1.tmp",
        tmp_path / ".d.elsewhere.4194999.tmp",
    )
    for path in (dead, live, foreign):
        path.mkdir()
    write(Blobs(), [], tmp_path / "d")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([live.name, foreign.name, "d"])


def test_two_tasks_with_one_id_are_refused(tmp_path):
    blobs = Blobs()
    with pytest.raises(InputError, match="acme__widgets-1"):
        write(
            blobs, [make_task(blobs, number=1), make_task(blobs, number=1, statement="other")], tmp_path / "d"
        )


def test_image_is_named_only_for_task_verified_in_it(tmp_path):
    blobs = Blobs()
    image = ImageReference(name="registry.example/acme:1", digest="sha256:" + "0" * 64)
    row = make_row(make_task(blobs, backend="docker"), blobs.get_blob, image)
    assert isinstance(row, Row)
    assert (row.image, row.image_name, row.docker_image) == (image.name,) * 3
    assert row.image_digest == image.digest
    unnamed = make_row(make_task(blobs, backend="docker"), blobs.get_blob)
    assert isinstance(unnamed, Row)
    assert unnamed.image is None
    surroundings = Surroundings(images={"acme__widgets-7": image})
    with pytest.raises(InputError, match="verified in bubblewrap"):
        SwebenchExporter().write(
            [make_task(blobs)], blobs.get_blob, tmp_path / "d", ExportSettings(), surroundings
        )


def test_unknown_creation_date_is_marked_as_such():
    blobs = Blobs()
    row = make_row(make_task(blobs), blobs.get_blob)
    assert isinstance(row, Row)
    assert (row.created_at, row.created_at_kind) == ("2024-03-01T12:00:00Z", "merged")


def test_changed_missing_and_unknown_files_are_told(tmp_path):
    blobs = Blobs()
    write(blobs, [make_task(blobs)], tmp_path / "d")
    (tmp_path / "d/README.md").write_text("tampered")
    (tmp_path / "d/data/lists.jsonl").unlink()
    (tmp_path / "d/extra").write_text("")
    assert check_dataset(tmp_path / "d") == (
        FileProblem(path="README.md", problem="changed"),
        FileProblem(path="data/lists.jsonl", problem="missing"),
        FileProblem(path="extra", problem="unknown"),
    )


def test_card_table_survives_hostile_names(tmp_path):
    blobs = Blobs()
    licence = make_task(blobs).candidate.licence
    assert licence is not None
    hostile = type(licence)(spdx="MIT | x\n| <script>alert(1)</script>", evidence="e")
    write(blobs, [make_task(blobs, licence=hostile)], tmp_path / "d", name="evil\n---\nx: [")
    card = (tmp_path / "d/README.md").read_text()
    assert "<script>" not in card
    assert "\n| MIT \\| x \\| \\<script\\>alert(1)\\</script\\> | 1 |\n" in card


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (["t[a]", 't["b"]'], ("t[a]", 't["b"]')),
        ('["t[a]", "t[\\"b\\"]"]', ("t[a]", 't["b"]')),
        ("[\"t[it's]\", 't[b]']", ("t[it's]", "t[b]")),
        ("[]", ()),
        (["t[\u2028,]"], ("t[\u2028,]",)),
    ],
)
def test_list_json_and_repr_forms_give_the_same_ids(value, ids):
    assert read_test_list(value, "rows.jsonl:1: FAIL_TO_PASS") == ids


@pytest.mark.parametrize(
    "value",
    ["[1, 40]", [1], [["t"]], [None], "", "t[a]", '{"a": 1}', None, 3, "[" * 100_000, "__import__('os')"],
)
def test_anything_else_is_refused_with_its_place(value):
    with pytest.raises(InputError, match=r"rows\.jsonl:1: FAIL_TO_PASS"):
        read_test_list(value, "rows.jsonl:1: FAIL_TO_PASS")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_columns_round_trip_for_any_text(ids):
    blobs = Blobs()
    made = make_row(make_task(blobs, pass_to_pass=tuple(ids), statement="".join(ids)), blobs.get_blob)
    assert isinstance(made, Row)
    for form in RowForm:
        columns = json.loads(json.dumps(to_columns(made, form)))
        assert from_columns(columns, "here") == made
        assert {*made.pass_to_pass, *(d.id for d in made.dropped_tests)} == set(ids)


def test_unknown_column_is_named():
    blobs = Blobs()
    made = make_row(make_task(blobs), blobs.get_blob)
    assert isinstance(made, Row)
    with pytest.raises(InputError, match="unknown column colour"):
        from_columns(to_columns(made, RowForm.LISTS) | {"colour": 1}, "x.jsonl:1")


def test_broken_line_is_named_by_file_and_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n{broken\n")
    with pytest.raises(InputError, match=r"rows\.jsonl:2: not JSON"):
        read_rows(path)


def test_parquet_keeps_its_schema_and_any_text(tmp_path):
    blobs = Blobs()
    texts = ["\0 \U0001f600 \u2028", "2024-01-01T00:00:00Z", "1.5", "null", "", "x" * 2_000_000]
    tasks = [make_task(blobs, number=n, statement=text) for n, text in enumerate(texts)]
    write(blobs, tasks, tmp_path / "d")
    for form in RowForm:
        path = tmp_path / "d/data" / f"{form.value}.parquet"
        assert pq.read_schema(path).equals(arrow_schema(form))
        assert [row.problem_statement for row in read_rows(path)] == texts
