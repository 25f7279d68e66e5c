"""Those who propose tests without a model: from the issue, from tests that are there, from runs of gold."""
