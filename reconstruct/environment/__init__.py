"""Environments as of a date, from evidence in the tree and without a model."""
