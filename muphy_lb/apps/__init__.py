"""apps: applications of the solver that run flows of their own. ``rock/``: the permeability of a rock. ``study/``: an
answer with a band, from many runs. ``grids`` has the same case on other grids, and the limit of values on them."""
