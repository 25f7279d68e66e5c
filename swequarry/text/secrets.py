"""What keys and tokens look like, by the forms that their makers give them."""

from typing import Final

SECRETS: Final = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})\b",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}\b",
    "Slack token": r"\bxox[abprs]-[0-9]{8,}-[A-Za-z0-9-]{10,}\b",
    "Google API key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "PyPI token": r"\bpypi-AgEI[A-Za-z0-9_-]{50,}\b",
    "OpenAI key": r"\bsk-(?:proj-)?[A-Za-z0-9_-]{40,}\b",
    "Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{20,}\b",
}
"""Kind: an expression that its texts match, for str and (encoded) for bytes."""

LITERALS: Final = {
    "private key": ("PRIVATE KEY-----",),
    "AWS access key": ("AKIA", "ASIA"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "GitLab token": ("glpat-",),
    "Slack token": ("xox",),
    "Google API key": ("AIza",),
    "PyPI token": ("pypi-AgEI",),
    "OpenAI key": ("sk-",),
    "Stripe key": ("k_live_",),
}
"""Pieces of which each text of a kind has one: what has none of them needn't be searched."""
