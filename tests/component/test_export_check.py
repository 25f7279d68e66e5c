"""`swequarry check`: what is wrong is said, what can be mended without guessing is mended, the rest isn't."""

import json

import pytest
from task_factory import Blobs, make_task
from test_export_formats import FORMATS, around, contents, write

from swequarry.cli.main import run
from swequarry.config import ExportSettings
from swequarry.errors import InputError, UsageError
from swequarry.export.adapters.harbor import HarborExporter
from swequarry.export.check import check_folder
from swequarry.export.images import read_images
from swequarry.export.interface import ImageReference
from swequarry.export.push import plan_push


@pytest.fixture(params=FORMATS)
def dataset(request, tmp_path):
    blobs = Blobs()
    tasks = [make_task(blobs, number=n, backend="docker") for n in (1, 2)]
    write(request.param, blobs, tasks, tmp_path / "d")
    return tmp_path / "d"


def said(folder, **more):
    return [(item.path, item.problem) for item in check_folder(folder, **more).problems]


def test_fresh_export_of_any_format_has_no_problem(dataset):
    found = check_folder(dataset)
    assert found.problems == ()
    assert found.tasks == 2


def test_file_that_is_gone_changed_or_new_is_named(dataset):
    tasks = dataset / "records/tasks.jsonl"
    tasks.write_bytes(tasks.read_bytes().splitlines(keepends=True)[0])
    (dataset / "stray").write_text("x")
    lock = next((dataset / "records/environments").glob("*.lock"))
    lock.unlink()
    found = said(dataset)
    assert ("stray", "unknown") in found
    assert ("records/tasks.jsonl", "changed") in found
    assert (lock.relative_to(dataset).as_posix(), "missing") in found
    assert ("manifest.json", "dataset_sha256 isn't that of the records") in found


def test_fix_never_writes_bytes_that_the_manifest_does_not_know(dataset):
    tasks = dataset / "records/tasks.jsonl"
    tasks.write_bytes(b"")
    before = contents(dataset)
    assert check_folder(dataset, fix=True).mended == ()
    assert contents(dataset) == before


@pytest.mark.parametrize(
    "name, path",
    [
        ("swebench", "data/lists.jsonl"),
        ("swebench", "data/strings.parquet"),
        ("rebench", "data/tasks.parquet"),
        ("rebench", "data/tasks.jsonl"),
        ("harbor", "tasks/acme__widgets-1/tests/grade.py"),
        ("harbor", "tasks/acme__widgets-1/tests/recorder.py"),
        ("harbor", "tasks/acme__widgets-1/solution/solve.sh"),
    ],
)
def test_file_that_others_hold_as_well_is_mended_to_the_byte(tmp_path, name, path):
    blobs = Blobs()
    write(name, blobs, [make_task(blobs, number=n, backend="docker") for n in (1, 2)], tmp_path / "d")
    whole = contents(tmp_path / "d")
    (tmp_path / "d" / path).write_bytes(b"spoilt")
    assert check_folder(tmp_path / "d").problems
    found = check_folder(tmp_path / "d", fix=True)
    assert path in found.mended
    assert found.problems == ()
    assert contents(tmp_path / "d") == whole


def test_lost_executable_bit_is_seen_and_mended(tmp_path):
    blobs = Blobs()
    write("harbor", blobs, [make_task(blobs, backend="docker")], tmp_path / "d")
    script = tmp_path / "d/tasks/acme__widgets-7/tests/test.sh"
    script.chmod(0o644)
    assert ("tasks/acme__widgets-7/tests/test.sh", "can't be executed") in said(tmp_path / "d")
    assert said(tmp_path / "d", fix=True) == []


def test_id_that_the_named_parser_cuts_is_a_problem_though_all_hashes_hold(tmp_path):
    blobs = Blobs()
    write("swebench-repo", blobs, [make_task(blobs, backend="docker")], tmp_path / "d")
    path = tmp_path / "d/tasks/acme__widgets-7/tests.json"
    path.write_text(json.dumps({"FAIL_TO_PASS": ["t.py::t[a - b]"], "PASS_TO_PASS": []}))
    assert any("loses 't.py::t[a - b]' (cut_at_dash)" in problem for _, problem in said(tmp_path / "d"))


def test_folder_of_an_unknown_format_is_refused_by_name(tmp_path):
    blobs = Blobs()
    write("swebench", blobs, [], tmp_path / "d")
    manifest = json.loads((tmp_path / "d/manifest.json").read_text())
    (tmp_path / "d/manifest.json").write_text(json.dumps({**manifest, "format": "tarball"}))
    with pytest.raises(InputError, match="tarball"):
        check_folder(tmp_path / "d")


def test_shared_mode_is_a_whole_dataset_too(tmp_path):
    blobs = Blobs()
    task = make_task(blobs, backend="docker")
    HarborExporter(shared=True).write([task], blobs.get_blob, tmp_path / "d", ExportSettings(), around(task))
    assert said(tmp_path / "d") == []


def test_images_are_read_from_what_build_and_push_print(tmp_path):
    path = tmp_path / "images.json"
    pushed = {"instance_id": "a__b-1", "image": "host:5000/x@sha256:" + "0" * 64}
    built = {"instance_id": "a__b-2", "tag": "swequarry/a:latest", "image": "sha256:" + "1" * 64}
    path.write_text(json.dumps([pushed, built]))
    assert read_images(path) == {
        "a__b-1": ImageReference(name=pushed["image"], digest="sha256:" + "0" * 64),
        "a__b-2": ImageReference(name="swequarry/a:latest"),
    }
    path.write_text(json.dumps([built, built]))
    with pytest.raises(InputError, match="twice"):
        read_images(path)
    path.write_text('{"a": 1}')
    with pytest.raises(InputError, match="isn't the output"):
        read_images(path)


def test_push_of_a_damaged_folder_or_to_no_repository_is_refused_before_anything_is_sent(tmp_path):
    blobs = Blobs()
    write("parquet", blobs, [make_task(blobs, backend="docker")], tmp_path / "d")
    plan = plan_push(tmp_path / "d", "acme/widgets", private=True)
    assert plan.files == tuple(sorted(contents(tmp_path / "d")))
    with pytest.raises(UsageError, match="OWNER/NAME"):
        plan_push(tmp_path / "d", "https://hub/acme/widgets", private=True)
    (tmp_path / "d/README.md").write_text("changed")
    with pytest.raises(UsageError, match=r"README\.md: changed"):
        plan_push(tmp_path / "d", "acme/widgets", private=True)


def test_command_says_what_is_wrong_and_ends_with_findings(tmp_path, capsys):
    blobs = Blobs()
    write("parquet", blobs, [make_task(blobs, backend="docker")], tmp_path / "d")
    assert run(["check", str(tmp_path / "d"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []
    (tmp_path / "d/README.md").unlink()
    assert run(["check", str(tmp_path / "d")]) == 1
    assert "README.md: missing" in capsys.readouterr().out


def test_dry_run_without_a_push_and_a_mode_of_another_format_are_wrong_use(capsys):
    assert run(["export", "x", "--dry-run"]) == 2
    assert run(["export", "x", "--format", "parquet", "--shared-verifier"]) == 2
    assert run(["export", "--format", "harbor"]) == 2
    assert "name a folder" in capsys.readouterr().err
