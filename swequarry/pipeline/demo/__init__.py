"""The example repository: nineteen merged pull requests with a known right end each."""
