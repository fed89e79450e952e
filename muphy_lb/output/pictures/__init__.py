"""pictures: images of the flow written by a run."""
