"""pictures: what a run draws."""
