"""Validation of two fluids. ``table`` holds the cases: the pressure of Laplace, layers that slide past each other,
contact angles, menisci in slits, films; ``pores`` those of displacement in pores, ``common`` what both share."""
