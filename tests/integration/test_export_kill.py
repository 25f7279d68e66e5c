"""A dataset that is being replaced is whole at every moment, whatever is killed when."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from task_factory import Blobs, make_task

from swequarry.config import ExportSettings
from swequarry.export.reader import check_dataset, read_rows
from swequarry.export.swebench import SwebenchExporter

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from task_factory import Blobs, make_task
from swequarry.config import ExportSettings
from swequarry.export.swebench import SwebenchExporter
blobs, round = Blobs(), 0
while True:
    round += 1
    tasks = [make_task(blobs, number=n, statement=f"{round} {n}") for n in range(20)]
    SwebenchExporter().write(tasks, blobs.get_blob, Path(sys.argv[1]), ExportSettings())
    print("written", flush=True)
"""


def test_killed_writer_leaves_one_whole_dataset(tmp_path):
    folder, rng = tmp_path / "d", random.Random(11)
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(Path(__file__).parents[1])],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        time.sleep(rng.uniform(0, 0.25))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
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
