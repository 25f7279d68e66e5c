"""Where tokens come from: the environment, or a file that the environment names. Never the settings."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from swequarry.errors import AuthenticationError

TOKENS, TOKENS_FILE = "GITHUB_TOKENS", "GITHUB_TOKENS_FILE"
SINGLE = ("GITHUB_TOKEN", "GH_TOKEN")


def read_tokens(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the tokens, each once: of `GITHUB_TOKENS`, of the file, of `GITHUB_TOKEN` and `GH_TOKEN`.

    Several are separated by blanks, commas or line ends; in the file `#` begins a comment.

    Raises:
        AuthenticationError: there is none, or the file can't be read.
    """
    texts = [environment.get(TOKENS, "")]
    if named := environment.get(TOKENS_FILE):
        try:
            texts.append(re.sub(r"#.*", "", Path(named).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise AuthenticationError(
                f"the file of tokens {named} ({TOKENS_FILE}) can't be read: {error}"
            ) from error
    texts += [environment.get(name, "") for name in SINGLE]
    found = tuple(dict.fromkeys(word for text in texts for word in re.split(r"[\s,]+", text) if word))
    if not found:
        raise AuthenticationError(
            "no token for GitHub: its GraphQL answers nobody without one; set GITHUB_TOKEN (any token that "
            f"may read public repositories), or several in {TOKENS} or in a file named by {TOKENS_FILE}"
        )
    return found


def token_id(token: str) -> str:
    """Return what may be stored and shown of a token: enough to tell it from others, too little to use it."""
    return hashlib.sha256(token.encode("utf-8")).hexdigest()[:12]
