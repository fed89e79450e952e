"""Images of voxels: what a file stores, as an array with spacing and origin (readers), and which of it is fluid (rule).

Files store x fastest: arrays are (nz, ny, nx), so that ``values[k, j, i]`` is voxel i along x, j along y, k along z.
"""
