"""The TestWriter: reproduction and hidden tests, proven by running."""
