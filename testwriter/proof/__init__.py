"""The proof of a proposed test: rules about its text, about its runs, and about what it is good for."""
