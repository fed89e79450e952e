"""Porous parts of the fluid, with a permeability at every node (Darcy, Brinkman): ``section`` holds the keys,
``regions`` the permeability of nodes, ``package`` the physics of a case, ``observers`` the record of each region. The
drag itself is :mod:`muphy_lb.operators.darcy`."""
