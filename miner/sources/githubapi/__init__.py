"""GitHub's API as this project asks it: frugally, patiently, and never twice for what it already knows."""
