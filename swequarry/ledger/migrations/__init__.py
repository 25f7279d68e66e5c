"""Schema migrations of the ledger, run by alembic from `swequarry.ledger.migrate`."""
