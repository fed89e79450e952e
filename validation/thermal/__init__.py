"""Studies of thermal flow: cases with known answers, and the kernels of a paper."""
