"""Where foreign code runs: one contract, one conformance suite, one file per backend."""
