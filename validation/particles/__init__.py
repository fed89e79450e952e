"""Validation of particles. ``beads_boxes`` sets flows up; ``beads_equilibrium``, ``beads_motion``, ``beads_chains`` and
``tracers`` hold the cases; ``table`` lists them."""
