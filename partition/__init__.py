"""partition: assigns the nodes of a graph to ranks; independent of the lattice-Boltzmann method."""
