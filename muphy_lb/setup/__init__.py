"""setup: from a case in SI units to domains, operators and conditions in lattice units."""
