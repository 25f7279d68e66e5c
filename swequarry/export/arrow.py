"""Rows as the bytes of data files: JSON lines, and parquet under an explicit schema."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

_BLOCK = 1 << 20


def json_lines(rows: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return each row as a line of ASCII.

    Readers that split lines at U+2028 or NEL, as str.splitlines does, must not cut a row.
    """
    return [json.dumps(row, ensure_ascii=True).encode("ascii") + b"\n" for row in rows]


def parquet(lines: Sequence[bytes], schema: pa.Schema) -> bytes:
    """Return JSON lines, each with its line end, as a parquet file of a schema."""
    written = io.BytesIO()
    pq.write_table(_table(lines, schema), written, compression="zstd", row_group_size=1000, version="2.6")
    return written.getvalue()


def _table(lines: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """Return JSON lines as a table.

    Arrow reads the JSON itself: its conversion of Python objects imports pandas wherever that is installed.
    """
    if not lines:
        return schema.empty_table()
    whole_lines = pj.ReadOptions(
        use_threads=False, block_size=max(_BLOCK, *(len(line) + 1 for line in lines))
    )
    as_declared = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    table = pj.read_json(io.BytesIO(b"".join(lines)), whole_lines, as_declared)
    return table.select(schema.names).combine_chunks()
