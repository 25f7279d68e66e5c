"""The Patch Reviewer: rules over patches, tasks and trajectories."""
