"""Validation of thermal flow.

``conduction``: conduction, onset of convection; ``round_walls``: heat at round walls; ``heated_cavity``: published
cavities; ``heated_bifurcation``: the first bifurcation of the cube; ``unsteady_window``: its unsteady flow, and the
return to steadiness; ``heat_balance``: balance of heat; ``table``: the list.
"""
