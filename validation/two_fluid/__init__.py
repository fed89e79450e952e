"""Validation of two fluids. ``table`` holds the cases: the pressure of Laplace, layers that slide past each other,
contact angles, menisci in slits, films; ``pores`` those of displacement in pores, ``drainage`` those of drainage by
steps of pressure, ``throats`` those of throats and dead ends, ``starts`` that of steady flows from two starts,
``common`` what they share."""
