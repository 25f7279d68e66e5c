"""What people said of tasks and patches."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create labels."""
    op.create_table(
        "labels",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("patch", sa.String(64)),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("labelled_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_labels"),
    )
    op.create_index("ix_labels_item", "labels", ["item"])
