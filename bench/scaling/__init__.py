"""scaling: parallel scaling of a case, and extrapolation to larger machines. ``command`` is ``muphy-lb scaling``,
``problem`` the kinds of scaling, ``study`` the measurement, ``model`` the cost of a step fitted to it, ``predict`` the
extrapolation, ``table2`` a paper's table."""
