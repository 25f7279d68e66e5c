"""Review of tasks: whether statement, tests and fix are about the same thing, without running any of them."""
