"""SWEQuarry: verified software-engineering tasks from the history of real repositories."""
