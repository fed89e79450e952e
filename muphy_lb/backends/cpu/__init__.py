"""The CPU backend: Numba, threads.

``backend`` holds memory and launches, ``kernels`` the table of kernels, ``skeletons`` the loops over nodes and the
decoding of addresses, ``stage_skeletons`` those of stages at chosen nodes, ``boundary_skeletons`` those of openings,
walls and particles, ``rows`` vector instructions that Numba does not provide.
"""
