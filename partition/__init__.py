"""partition: turns a graph into owners. It knows no lattice Boltzmann."""
