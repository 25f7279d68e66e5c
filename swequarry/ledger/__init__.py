"""What was decided: results, attempts, selections and blobs."""
