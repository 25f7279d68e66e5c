"""Repositories for tests, built commit by commit with fixed times, by `git fast-import`."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from swequarry.git.paths import entries_below, quote_path
from swequarry.git.repository import Repository
from swequarry.records import CommitSha, RepoRef, TreeSha

REPO = RepoRef(owner="acme", name="widgets")
START = 1_600_000_000
LINK = 0o120000
SUBMODULE = 0o160000

Content = bytes | tuple[int, bytes]
Files = dict[bytes, Content]


def git(folder: Path, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
    """Run git as a person would, with an identity and a fixed time, but without that person's settings."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": os.fspath(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_AUTHOR_DATE": f"{START} +0000",
        "GIT_COMMITTER_DATE": f"{START} +0000",
    }
    command = ["git", "-c", "protocol.file.allow=always", "-c", "safe.directory=*", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@dataclass(frozen=True)
class Upstream:
    """A bare repository to build in; every commit states all files of its tree."""

    path: Path

    @property
    def repository(self) -> Repository:
        return Repository.open(self.path)

    def commit(
        self,
        files: Files,
        *,
        parents: tuple[str, ...] = (),
        ref: str = "refs/heads/main",
        at: int = START,
        message: str = "change",
    ) -> CommitSha:
        text = message.encode()
        stream = [b"feature done\nreset %s\n\ncommit %s\nmark :1\n" % (ref.encode(), ref.encode())]
        stream.append(b"author A <a@example.org> %d +0000\n" % START)
        stream.append(b"committer A <a@example.org> %d +0000\n" % at)
        stream.append(b"data %d\n%s\n" % (len(text), text))
        for word, parent in zip((b"from", *[b"merge"] * 9), parents, strict=False):
            stream.append(b"%s %s\n" % (word, parent.encode()))
        stream.append(b"deleteall\n")
        for path, content in files.items():
            mode, data = content if isinstance(content, tuple) else (0o100644, content)
            if mode == SUBMODULE:
                stream.append(b"M %o %s %s\n" % (mode, data, quote_path(path)))
            else:
                stream.append(b"M %o inline %s\ndata %d\n%s\n" % (mode, quote_path(path), len(data), data))
        stream.append(b"\nget-mark :1\ndone\n")
        out = git(self.path, "fast-import", "--quiet", "--force", "--done", stdin=b"".join(stream))
        return CommitSha(out.decode().strip())

    def tree(self, files: Files) -> TreeSha:
        sha = self.commit(files, ref="refs/scratch/tree")
        return TreeSha(self.git("rev-parse", f"{sha}^{{tree}}").decode().strip())

    def git(self, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
        return git(self.path, *arguments, stdin=stdin)


def make_upstream(folder: Path, name: str = "upstream.git") -> Upstream:
    path = folder / name
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", os.fspath(path))
    return Upstream(path)


def plain_files(root: Path) -> dict[bytes, bytes]:
    """Return every file below a folder, `.git` left out; links as their target."""
    return {
        name: os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for name, path in entries_below(root)
        if (path.is_symlink() or path.is_file()) and name.split(b"/")[0] != b".git"
    }
