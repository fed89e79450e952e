"""Files as such: written whole or not at all, read without trust; for all packages and contents.

- ``atomic``: whole files by temporary name, fsync and rename; plain words when the disk refuses.
- ``sealed``: headers with length and checksum. ``ownership``: files and folders of this user alone.
- ``hdf5``: HDF5 files to write; ``hdf5_input``: those that are inputs, checked before they are believed.
"""

PREPARED = ".h5"  # ending of prepared geometries
