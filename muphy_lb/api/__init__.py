"""api: what users import: ``muphy_lb.Simulation``, ``muphy_lb.Case``; a composition of all that lies below."""
