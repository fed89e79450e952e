"""validation: published cases with their numbers."""
