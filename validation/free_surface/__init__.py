"""Validation of free surfaces.

``liquids`` sets liquids up; ``tanks``, ``films``, ``oscillations``, ``shaking``, ``faraday``,
``drops``, ``slits`` and ``spreading`` hold the cases; ``table`` lists them.
"""
