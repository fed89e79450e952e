"""Validation of thermal flow.

``conduction``: conduction, onset of convection; ``heated_cavity``: published cavities; ``heated_bifurcation``: the
first bifurcation of the cube; ``heat_balance``: balance of heat; ``table``: the list.
"""
