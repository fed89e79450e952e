"""lattice: immutable tables of the velocity sets and of their moment bases.

- ``sets``: the velocity sets with their references; ``lattice``: their record, checked; ``bases``: moment bases.
- ``layout``: addresses in a population buffer; ``sums``: sums over populations in their order;
  ``exact_sums``: sums of real numbers as integers.
"""

from muphy_lb.lattice.bases import BASES, FAMILIES, MomentBasis
from muphy_lb.lattice.lattice import Lattice
from muphy_lb.lattice.sets import D2Q5, D2Q9, D3Q7, D3Q15, D3Q19, D3Q27, LATTICES, lattice_named, scalar_lattice
from muphy_lb.lattice.sums import added, combined, second_moment
