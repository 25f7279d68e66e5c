"""Releases: named versions of a dataset, what differs between two of them, what shall not go out any more."""
