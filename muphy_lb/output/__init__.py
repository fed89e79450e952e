"""output: files and pictures of a run, written on rank 0 in rank-independent order."""
