"""Validation of free surfaces.

``liquids`` sets liquids up; ``tanks``, ``films``, ``oscillations`` and ``drops`` hold the cases; ``table`` lists them.
"""
