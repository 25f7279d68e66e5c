"""Readers of evidence: one file per place where a project says how it wants to be built.

Every reader takes a `SourceTree` and a `Notebook` and executes nothing. Broken, huge or hostile files
become an entry in the notebook, never an exception.
"""
