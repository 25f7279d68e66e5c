"""Reviews as text, Markdown, JSON and SARIF."""
