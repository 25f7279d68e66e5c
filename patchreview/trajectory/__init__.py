"""Review of trajectories: what a solver did on its way to a patch."""
