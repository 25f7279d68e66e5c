"""Dataset formats and their readers."""
