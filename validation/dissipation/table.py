"""Validation cases of the viscous dissipation."""

from muphy_lb.validation.dissipation.pipe import pipe_dissipation

CASES = (pipe_dissipation,)
