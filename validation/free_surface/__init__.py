"""Validation of free surfaces.

``liquids`` sets liquids up; ``tanks``, ``films``, ``oscillations``, ``shaking``, ``faraday``,
``drops``, ``slits``, ``spreading`` and ``threads`` hold the cases; ``table`` lists them.
"""
