"""The stress of the fluid, above all at walls: the nodes there, the stress itself, its indices, the record of a run.
``wall_nodes`` finds the nodes beside walls and their areas, ``stress`` computes the viscous stress at nodes, ``fields``
makes fields of it and of the rate of strain, ``wall_shear`` computes the wall shear stress with its indices over a
period, ``observer`` writes its files."""
