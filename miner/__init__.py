"""The Curator: finds candidates and drops the unfit with a reason."""
