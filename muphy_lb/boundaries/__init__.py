"""boundaries: openings, velocity profiles, waveforms and walls in motion, in lattice units."""
