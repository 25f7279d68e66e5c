"""Tests written by a language model: asked with bounds, read as one file, and believed only when proven."""
