"""Files of particles: tables that a user hands in, trajectories that a run writes."""
