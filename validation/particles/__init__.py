"""Validation of particles. ``beads_boxes`` sets flows up; ``beads_equilibrium``, ``beads_motion``, ``beads_chains``,
``tracers`` and ``packs`` hold the cases; ``table`` lists them."""
