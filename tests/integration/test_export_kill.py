"""A dataset that is being replaced is whole at every moment, whatever is killed when."""

import multiprocessing
import random
import threading
import time

from task_factory import Blobs, make_task

from swequarry.config import ExportSettings
from swequarry.export.reader import check_dataset, read_rows
from swequarry.export.swebench import SwebenchExporter


def write_forever(folder, pipe):
    blobs, number = Blobs(), 0
    while True:
        number += 1
        tasks = [make_task(blobs, number=n, statement=f"{number} {n}") for n in range(20)]
        SwebenchExporter().write(tasks, blobs.get_blob, folder, ExportSettings())
        pipe.send("written")


def test_killed_writer_leaves_one_whole_dataset(tmp_path):
    folder, rng, context = tmp_path / "d", random.Random(11), multiprocessing.get_context("fork")
    for _ in range(8):
        ours, theirs = context.Pipe()
        writer = context.Process(target=write_forever, args=(folder, theirs), daemon=True)
        writer.start()
        assert ours.poll(60)
        time.sleep(rng.uniform(0, 0.25))
        writer.kill()
        writer.join()
        assert check_dataset(folder) == ()
        rows = read_rows(folder / "data/lists.jsonl")
        assert len({row.problem_statement.split()[0] for row in rows}) == 1
    blobs = Blobs()
    SwebenchExporter().write([make_task(blobs)], blobs.get_blob, folder, ExportSettings())
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_reader_always_finds_a_dataset_while_it_is_replaced(tmp_path):
    folder, blobs, stop, gone = tmp_path / "d", Blobs(), threading.Event(), []
    task = make_task(blobs)
    SwebenchExporter().write([task], blobs.get_blob, folder, ExportSettings())

    def watch():
        while not stop.is_set():
            if not (folder / "manifest.json").exists():
                gone.append(time.monotonic())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(20):
        SwebenchExporter().write([task], blobs.get_blob, folder, ExportSettings())
    stop.set()
    watcher.join()
    assert gone == []
