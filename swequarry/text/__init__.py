"""Normal forms, hashing and n-grams of text."""
