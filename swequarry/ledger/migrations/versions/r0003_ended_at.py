"""An index for what ended of late: counting it mustn't read every try that there ever was."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the index."""
    op.create_index("ix_attempts_ended_at", "attempts", ["ended_at"])
