"""The velocity sets, each with its source."""

from fractions import Fraction

from muphy_lb.errors import InputError
from muphy_lb.lattice.lattice import Lattice


def _lattice(name: str, dimension: int, shells) -> Lattice:
    """Build a set from shells (weight, half of the vectors); each vector is followed by its opposite."""
    vectors, weights = [(0, 0, 0)], [shells[0]]
    for weight, half in shells[1:]:
        for vector in half:
            vectors += [vector, tuple(-x for x in vector)]
            weights += [weight, weight]
    return Lattice(name, dimension, tuple(vectors), tuple(weights))


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
D3Q19 = _lattice(
    "D3Q19",
    3,
    (
        Fraction(1, 3),
        (Fraction(1, 18), ((1, 0, 0), (0, 1, 0), (0, 0, 1))),
        (Fraction(1, 36), ((1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1))),
    ),
)

LATTICES = {lattice.name: lattice for lattice in (D2Q9, D3Q19)}


def lattice_named(name: str) -> Lattice:
    """Look a lattice up by name.

    Raises:
        InputError: there is no such lattice.
    """
    if name not in LATTICES:
        raise InputError(f"lattice is {name!r}; allowed: {', '.join(LATTICES)}")
    return LATTICES[name]
