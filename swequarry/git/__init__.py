"""Every git call: mirrors, history, trees, patches, path rules, constructive copies."""
