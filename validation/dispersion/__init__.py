"""Validation of dispersion in periodic flows; ``table`` lists the cases."""
