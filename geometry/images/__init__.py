"""Voxel images: readers (the values of a file with spacing and origin) and segmentation (which values are fluid).

Files store x fastest: arrays are (nz, ny, nx), so that ``values[k, j, i]`` is voxel i along x, j along y, k along z.

- Readers: ``arrays`` (npy, npz, raw), ``dicom``, ``metaimage``, ``nifti``, ``nrrd``, ``tiff``, ``vtk``; ``stored``:
  numbers in files, their sizes checked.
- ``image``: values with spacing and origin; ``rule``: segmentation; ``selection``: labels, intervals, thresholds,
  resampling.
"""
