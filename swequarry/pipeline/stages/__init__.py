"""The stages of the line: each wraps one room's work as a memoised map stage."""
