"""One module for each dataset format; its name is the format's name with `_` for `-`."""
