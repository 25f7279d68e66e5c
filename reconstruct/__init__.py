"""The Issue Reconstructor: statement, snapshot, environment."""
