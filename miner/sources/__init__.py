"""Where candidates come from: one interface, one file per source."""
