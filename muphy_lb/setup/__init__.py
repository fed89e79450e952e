"""setup: from a case in SI units to what the ranks compute with, in lattice units."""
