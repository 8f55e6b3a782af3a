"""Windows that take late events: trees, late windows, keyed sets."""
