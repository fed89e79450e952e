"""apps: applications of the solver that run flows of their own. ``rock/``: the permeability of a rock."""
