"""Writes the rows of a file that are kept: JSONL byte for byte, parquet with its schema."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq

from swequarry.errors import InputError

_ROWS = 256


class KeptRows:
    """Takes one decision for each row of `source`, in order; `target` appears when all is written."""

    def __init__(self, source: Path, target: Path) -> None:
        if target.suffix != source.suffix:
            raise InputError(
                f"{target} should end in {source.suffix}, as {source} does: rows keep their format"
            )
        self._source = source
        self._target = target
        self._flags: list[bool] = []

    def row(self, *, kept: bool) -> None:
        """Say whether the next row is kept."""
        self._flags.append(kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        part = self._target.with_name(f"{self._target.name}.part")
        try:
            self._write(part)
            part.replace(self._target)
        except OSError as broken:
            part.unlink(missing_ok=True)
            raise InputError(f"{self._target} can't be written: {broken.strerror}") from broken

    def _write(self, part: Path) -> None:
        flags = iter(self._flags)
        if self._source.suffix == ".parquet":
            with pq.ParquetFile(self._source) as source, pq.ParquetWriter(part, source.schema_arrow) as out:
                for batch in source.iter_batches(batch_size=_ROWS):
                    out.write_batch(batch.filter(pa.array([next(flags) for _ in range(batch.num_rows)])))
            return
        with self._source.open("rb") as lines, part.open("wb") as out:
            for line in _whole(lines):
                if next(flags):
                    out.write(line)


def _whole(lines: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are rows, each with its end."""
    for line in lines:
        if line.strip():
            yield line if line.endswith(b"\n") else line + b"\n"
