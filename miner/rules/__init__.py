"""The Curator's rules: small pure functions that say of a candidate why it is dropped, or nothing."""
