"""The stress of the fluid at walls: the nodes there, the stress itself, its indices, and what a run records of it."""
