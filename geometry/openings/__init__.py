"""Openings of vessels: carved by planes, found by themselves, drawn."""
