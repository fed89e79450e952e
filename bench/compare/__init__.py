"""compare: one flow in several sizes on several backends, timed side by side."""
