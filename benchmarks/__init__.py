"""The figures: each module is one resumable command with --rows, --mirror and --sample."""
