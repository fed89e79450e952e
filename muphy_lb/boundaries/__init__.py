"""boundaries: openings, velocity profiles, waveforms, wall motion and feedback, in lattice units."""
