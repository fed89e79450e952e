"""The velocity sets, each with its reference."""

from fractions import Fraction

from muphy_lb.base.errors import InputError
from muphy_lb.lattice.lattice import Lattice

# One vector of each pair of opposites, by shell.
_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
_FACE_DIAGONALS = ((1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1))
_CORNERS = ((1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1))


def _lattice(name: str, dimension: int, shells, cs2=Fraction(1, 3), isotropy: int = 4) -> Lattice:
    """Build a set from shells (weight, one vector of each pair); each vector is followed by its opposite."""
    vectors, weights = [(0, 0, 0)], [shells[0]]
    for weight, half in shells[1:]:
        for vector in half:
            vectors += [vector, tuple(-x for x in vector)]
            weights += [weight, weight]
    return Lattice(name, dimension, tuple(vectors), tuple(weights), cs2, isotropy)


# Qian, d'Humieres, Lallemand, Europhys. Lett. 17, 479 (1992).
D2Q9 = _lattice(
    "D2Q9",
    2,
    (
        Fraction(4, 9),
        (Fraction(1, 9), ((1, 0, 0), (0, 1, 0))),
        (Fraction(1, 36), ((1, 1, 0), (1, -1, 0))),
    ),
)

# Qian, d'Humieres, Lallemand, Europhys. Lett. 17, 479 (1992).
D3Q15 = _lattice(
    "D3Q15",
    3,
    (
        Fraction(2, 9),
        (Fraction(1, 9), _AXES),
        (Fraction(1, 72), _CORNERS),
    ),
)

# Qian, d'Humieres, Lallemand, Europhys. Lett. 17, 479 (1992).
D3Q19 = _lattice(
    "D3Q19",
    3,
    (
        Fraction(1, 3),
        (Fraction(1, 18), _AXES),
        (Fraction(1, 36), _FACE_DIAGONALS),
    ),
)

# He, Luo, Phys. Rev. E 56, 6811 (1997).
D3Q27 = _lattice(
    "D3Q27",
    3,
    (
        Fraction(8, 27),
        (Fraction(2, 27), _AXES),
        (Fraction(1, 54), _FACE_DIAGONALS),
        (Fraction(1, 216), _CORNERS),
    ),
)

# For scalars: isotropic to second order, with the same squared speed of sound 1/4 in two and three dimensions.
# Yoshida, Nagaoka, J. Comput. Phys. 229, 7774 (2010).
D2Q5 = _lattice("D2Q5", 2, (Fraction(1, 2), (Fraction(1, 8), _AXES[:2])), Fraction(1, 4), isotropy=2)
D3Q7 = _lattice("D3Q7", 3, (Fraction(1, 4), (Fraction(1, 8), _AXES)), Fraction(1, 4), isotropy=2)

LATTICES = {lattice.name: lattice for lattice in (D2Q9, D3Q15, D3Q19, D3Q27)}


def scalar_lattice(dimension: int) -> Lattice:
    """The velocity set of a scalar in 2 or 3 dimensions."""
    return D2Q5 if dimension == 2 else D3Q7


def lattice_named(name: str) -> Lattice:
    """Look a lattice up by name. Raises InputError: there is no such lattice."""
    if name not in LATTICES:
        raise InputError(f"lattice is {name!r}; allowed: {', '.join(LATTICES)}")
    return LATTICES[name]
