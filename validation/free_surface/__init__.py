"""Validation of free surfaces.

``liquids`` sets liquids up; ``tanks``, ``films``, ``oscillations``, ``shaking``, ``faraday`` and
``drops`` hold the cases; ``table`` lists them.
"""
