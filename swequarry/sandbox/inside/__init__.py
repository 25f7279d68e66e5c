"""Programs that run inside sandboxes, on any Python from 3.6 on, with nothing but the standard library."""
