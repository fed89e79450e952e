"""How well a grid resolves the throats of a rock, and what that leaves of the error of its permeability.

A flow loses its pressure in the throats. The width w of a pore at a node is the shortest chord through it
(:mod:`muphy_lb.geometry.porous.pores`), and what the flow dissipates there goes as u^2 / w^2: with these weights the
distribution of w is that of the throats, and m = <1 / w> one over their mean width.

Half-way walls on voxels make a permeability too large by about EXPECTED m of itself, against the same voxels on an
infinitely fine grid. EXPECTED and its bounds were fitted to flows on voxels divided into up to 6^3 (``muphy-lb validate
permeability-error`` repeats the comparison): cubes of 26 and 40 voxels of Ketton limestone along each axis, cubes of
Finney's pack with 3 to 10 voxels across a radius, body-centred spheres in cells of 8 to 24 voxels. It holds for pores
of rocks and packs, whose walls are stairs: straight ducts along the axes err by an eighth of it.
"""

from dataclasses import asdict, dataclass

import numpy as np

EXPECTED = 1.3
LEAST, MOST = 0.6, 2.0
"""Of the error over m: nine in ten of the flows lie between them."""

SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Throats:
    """Widths of the throats.

    Attributes:
        widths_voxels: those below which a tenth, half and nine tenths of the pressure are lost.
        mean_width_voxels: 1 / <1 / w>; infinite where nothing is between walls.
    """

    widths_voxels: tuple[float, float, float]
    mean_width_voxels: float

    @property
    def expected_error(self) -> float:
        """Expected relative error of the permeability, by which it is too large."""
        return EXPECTED / self.mean_width_voxels

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest relative error that are likely."""
        return LEAST / self.mean_width_voxels, MOST / self.mean_width_voxels

    def record(self) -> dict:
        """All of it by name, for files."""
        return asdict(self) | {"expected_error": self.expected_error, "error_bounds": self.bounds}


def throats(width: np.ndarray, velocity: np.ndarray) -> Throats | None:
    """The throats of a flow; None where none of it is between walls.

    Args:
        width: (n,) width of the pore at each node [voxels].
        velocity: (n, 3), any unit.
    """
    bounded = np.isfinite(width)
    square = np.rint(width[bounded].astype(np.float64) ** 2).astype(np.int64)  # of a chord, hence a whole number
    energy = np.einsum("ij,ij->i", velocity[bounded], velocity[bounded], dtype=np.float64)
    squares = np.flatnonzero(by_square := np.bincount(square, energy))
    if not squares.size:
        return None
    widths, loss = np.sqrt(squares), by_square[squares] / squares
    below = np.cumsum(loss)
    at = np.minimum(np.searchsorted(below, np.array(SHARES) * below[-1]), widths.size - 1)
    narrow, middle, wide = widths[at].tolist()
    return Throats((narrow, middle, wide), float(below[-1] / (loss / widths).sum()))


def throat_lines(record: dict) -> list[str]:
    """What a record of :class:`Throats` says, for people."""
    narrow, middle, wide = record["widths_voxels"]
    least, most = record["error_bounds"]
    return [
        f"throats: half of the pressure is lost where pores are up to {middle:.3g} voxels across (a tenth:"
        f" {narrow:.3g}, nine tenths: {wide:.3g})",
        f"grid: k is expected to be {100 * record['expected_error']:.0f} % too high (between {100 * least:.0f} and"
        f" {100 * most:.0f} %, by the widths of the throats alone); --refine 1,2 measures it",
    ]
