"""Published figures of differentially heated cavities, Pr = 0.71.

Square: de Vahl Davis, Int. J. Numer. Meth. Fluids 3, 249 (1983): largest velocities [diffusivity over length] on the
centre lines, and mean Nusselt number of the hot wall. Cube: Tric, Labrosse, Betrouni, Int. J. Heat Mass Transfer 43,
4043 (2000), and Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012), Table 5, on 256^3 nodes.
"""

from typing import NamedTuple


class Square(NamedTuple):
    """Largest horizontal velocity on the vertical centre line, largest vertical one on the horizontal, Nusselt
    number."""

    u_max: float
    v_max: float
    nusselt: float


PRANDTL = 0.71
SQUARE = {
    1e3: Square(3.649, 3.696, 1.117),
    1e4: Square(16.178, 19.617, 2.238),
    1e5: Square(34.73, 68.59, 4.509),
    1e6: Square(64.53, 219.36, 8.817),
}
TRIC = {1e4: 2.054, 1e5: 4.337, 1e6: 8.640, 1e7: 16.342}
THELMA = {1e4: 2.0560, 1e5: 4.3382, 1e6: 8.6457, 1e7: 16.4202, 1e8: 30.2027}
WAKASHIMA = {1e4: 2.0624, 1e5: 4.3665, 1e6: 8.6973}
# Rayleigh number above which the flow of the cube is unsteady: steady at 3.19e7, unsteady at 3.26e7 (Obrecht et al.).
BIFURCATION = 3.2245e7
# Of an independent program with the same method and grid, by Rayleigh number and nodes along an edge.
SAME_METHOD = {(1e4, 16): 1.9747, (1e4, 24): 2.0248, (1e4, 32): 2.0403, (1e5, 32): 4.2309}
