"""The example repository: eighteen merged pull requests with a known right end each."""
