"""Parsing of source code with tree-sitter."""
