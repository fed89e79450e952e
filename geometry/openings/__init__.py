"""Openings of vessels: carved by planes, detected automatically, drawn for inspection. ``carve`` cuts vessels and flags
voxels, ``find`` detects ends and openings, ``preview`` draws them."""
