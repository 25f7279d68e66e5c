"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create results with items, attempts, leases, and runs with selections and endings."""
    _create_results()
    _create_attempts()
    _create_leases()
    _create_runs()


def _key_columns() -> list[sa.Column[object]]:
    return [
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("input_hash", sa.String(64), nullable=False),
        sa.Column("settings_hash", sa.String(64), nullable=False),
    ]


def _process_columns(*, nullable: bool) -> list[sa.Column[object]]:
    return [
        sa.Column("host", sa.Text(), nullable=nullable),
        sa.Column("pid", sa.Integer(), nullable=nullable),
        sa.Column("birth", sa.Text(), nullable=nullable),
    ]


def _create_results() -> None:
    op.create_table(
        "results",
        sa.Column("key", sa.String(64), nullable=False),
        *_key_columns(),
        sa.Column("retryable", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_results"),
    )
    op.create_table(
        "items",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["key"], ["results.key"], name="fk_items_key", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", "position", name="pk_items"),
    )
    op.create_index("ix_items_item", "items", ["item"])


def _create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        *_key_columns(),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        *_process_columns(nullable=False),
        sa.Column("boundary", sa.String(16)),
        sa.Column("message", sa.Text()),
        sa.Column("log", sa.String(64)),
        sa.Column("observed", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_attempts"),
    )
    op.create_index("ix_attempts_key", "attempts", ["key"])
    op.create_index("ix_attempts_status", "attempts", ["status"])


def _create_leases() -> None:
    op.create_table(
        "leases",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        *_process_columns(nullable=True),
        sa.Column("deadline", sa.Float()),
        sa.Column("deaths", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "item", name="pk_leases"),
    )


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        *_process_columns(nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_table(
        "selections",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_selections_run", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "name", "position", name="pk_selections"),
    )
    op.create_index("uq_selections_item", "selections", ["run", "name", "item"], unique=True)
    op.create_table(
        "endings",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_endings_run", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "item", name="pk_endings"),
    )
