"""Other programs that look at code (ruff, bandit, mypy), where they're installed: only what's new counts.

They read and run nothing of the project; its own settings for them don't count, since a patch could change
them, and so don't comments that silence them.
"""
