"""Answers by the hash of their questions, in files that outlive a run: `root/ab/cdef...json`."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from swequarry.errors import StorageError
from swequarry.records import ContentHash
from testwriter.model.exchange import Answer, Usage


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder of answers. Safe for several processes: a file is written whole or not at all.

    A damaged file is no answer: it's asked for again and written anew.
    """

    root: Path

    def get(self, key: ContentHash) -> Answer | None:
        """Return the answer to a question, None where it isn't known."""
        try:
            data = json.loads(self._path(key).read_bytes())
            return Answer(**{**data, "usage": Usage(**data["usage"])})
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            return None
        except OSError as error:
            raise StorageError(f"can't read the answer {self._path(key)}: {error.strerror}") from error

    def put(self, key: ContentHash, answer: Answer) -> None:
        """Keep an answer.

        Raises:
            StorageError: the folder can't be written.
        """
        path = self._path(key)
        temporary = path.with_name(f".{os.getpid()}-{secrets.token_hex(8)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as handle:
                handle.write(json.dumps(asdict(answer), sort_keys=True).encode("ascii"))
                handle.flush()
                os.fsync(handle.fileno())
            temporary.rename(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StorageError(f"can't keep the answer {path}: {error.strerror}") from error

    def _path(self, key: ContentHash) -> Path:
        return self.root / key[:2] / f"{key[2:]}.json"
