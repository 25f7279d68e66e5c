"""Stages wired together and run over many items."""
