"""Beads: particles that drag the fluid along, held together by bonds, kept apart by excluded volume."""
