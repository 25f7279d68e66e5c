"""Debian's Postgres, started for tests: an ordinary user's, in a temporary folder, behind a unix socket."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from needs import skip_or_fail

_QUICK = ("fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200")
"""A test's server survives being stopped and started, not a power cut."""


def programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`: Debian keeps them off PATH, one folder a version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    return Path(named).parent if named else None


@dataclass
class PostgresServer:
    folder: Path
    bin: Path
    user: str
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def make(cls) -> "PostgresServer":
        """Make a server's folder and start it; skips where Postgres or psycopg isn't installed."""
        place = programs()
        if place is None:
            skip_or_fail("postgres", "Postgres isn't installed: apt-get install postgresql")
        if find_spec("psycopg") is None:
            skip_or_fail("postgres", "psycopg isn't installed: pip install swequarry[postgres]")
        folder = Path(tempfile.mkdtemp(prefix="swequarry-pg-", dir="/var/tmp"))
        user = pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:  # Postgres refuses root
            user = "nobody"
            shutil.chown(folder, user)
        server = cls(folder, place, user)
        server._run("initdb", "-D", folder / "data", "-U", "tests", "-A", "trust", "-N", "-E", "UTF8")
        server.start()
        return server

    def start(self) -> None:
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", *_QUICK)
        options = [word for setting in settings for word in ("-c", setting)]
        log = (self.folder / "log").open("ab")
        argv = self._argv("postgres", "-D", self.folder / "data", *options)
        self.process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + 60
        while self._run("pg_isready", "-q", "-h", self.folder, check=False) != 0:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it; by SIGINT it throws everybody out and shuts down, by SIGQUIT it falls over."""
        assert self.process is not None
        os.kill(self._postmaster(), number)
        self.process.wait(60)

    def remove(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self) -> str:
        """Return the URL of what looks like an empty database: a schema of its own, which is made faster."""
        name = f"t{uuid.uuid4().hex}"
        place = ("-h", self.folder, "-U", "tests", "-d", "postgres", "-q")
        self._run("psql", *place, "-c", f"CREATE SCHEMA {name}")
        return f"postgresql://tests@/postgres?host={self.folder}&options=-csearch_path%3D{name}"

    def _postmaster(self) -> int:
        return int((self.folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])

    def _argv(self, program: str, *words: object) -> list[str]:
        drop = ["setpriv", f"--reuid={self.user}", "--regid=nogroup", "--clear-groups", "--pdeathsig=INT"]
        argv = [str(self.bin / program), *map(str, words)]
        return [*drop, *argv] if os.geteuid() == 0 else argv

    def _run(self, program: str, *words: object, check: bool = True) -> int:
        done = subprocess.run(
            self._argv(program, *words), capture_output=True, text=True, cwd=self.folder, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.returncode
