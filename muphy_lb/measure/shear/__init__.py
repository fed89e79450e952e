"""The stress of the fluid at walls: the nodes there, the stress itself, its indices, and what a run records of it.
``wall_nodes`` finds the nodes beside walls and their areas, ``stress`` computes the viscous stress at nodes,
``wall_shear`` the wall shear stress with its indices over a period, ``observer`` writes its files."""
