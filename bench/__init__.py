"""bench: speed relative to the memory bandwidth measured in the same run."""
