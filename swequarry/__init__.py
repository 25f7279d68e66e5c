"""SWEQuarry: verified software-engineering tasks from the history of real repositories."""

__version__ = "0.1.0"
