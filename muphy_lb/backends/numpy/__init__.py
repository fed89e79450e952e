"""The specification backend. ``backend`` holds stream-and-collide and launches, ``kernels`` all other kernels, in a
line or two of NumPy each."""
