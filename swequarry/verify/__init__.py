"""The Execution Verifier: test runs, reports, stability, FAIL_TO_PASS and PASS_TO_PASS."""
