"""base: the ground that every other folder stands on; no physics, no device, no rank.

- ``errors``: the error classes with their exit codes, and text made printable. ``phases``: times and messages.
- ``units``: SI and lattice units; ``key_units``: the unit in which the name of a key ends.
- ``narrow``: values that are known to be there, and tuples of a known length, for the type checker.
- ``precision``: number formats, and the meaning of a stored number. ``version``: the version of the program.
- ``remembered``: results that a record remembers for all that share it.
- ``arguments``: the parser of a command line. ``chunks``: many values, some at a time, also in threads.
- ``processes``: further processes of this package.
- ``registry``: the table of physics packages, and the functions that find their parts by name.
- ``files/``: files as such; ``kept/``: compiled code on disk.
"""
