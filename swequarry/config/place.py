"""Where the ledger and the blobs lie, if not in the workspace."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field


def _without_a_password(url: str) -> str:
    if urlsplit(url).password is not None:
        raise ValueError(
            "holds a password, and settings are saved with the run: leave it out, and give it where the "
            "database's client looks for it (PGPASSWORD or ~/.pgpass)"
        )
    return url


BlobsUrl = Annotated[str, Field(pattern=r"^[a-z][a-z0-9+]*://\S+$"), AfterValidator(_without_a_password)]
"""Any that fsspec opens: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, a `file:///FOLDER` that all see."""
LedgerUrl = Annotated[str, Field(pattern=r"^postgresql://\S+$"), AfterValidator(_without_a_password)]
"""`postgresql://[USER@]HOST[:PORT]/DATABASE`."""
