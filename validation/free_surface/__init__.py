"""Validation of free surfaces.

``liquids`` sets liquids up; ``tanks``, ``films``, ``oscillations``, ``shaking``, ``faraday``,
``drops`` and ``slits`` hold the cases; ``table`` lists them.
"""
