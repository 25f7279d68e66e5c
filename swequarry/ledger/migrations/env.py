"""What alembic runs: our connection and transaction, never one of its own making."""

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"], target_metadata=attributes["metadata"], **attributes["options"]
)
context.run_migrations()
