"""run: the simulation, its time loop, and every reason to stop."""
