"""Multiple relaxation times: moments m = M f relax with individual rates.

f~ = f + M^-1 [ s (m^eq - m) + (1 - s/2) M S ],   m^eq = M f^eq of the equilibrium in use, S the source of the force
   = f + S + M^-1 s M h,   h = f^eq - f - S/2.

h carries no mass and no momentum, so the rates of the conserved moments do not matter.
d'Humieres, Ginzburg, Krafczyk, Lallemand, Luo, Phil. Trans. R. Soc. A 360, 437 (2002); the force: Guo, Zheng, Shi,
Phys. Rev. E 65, 046308 (2002). Bases and families of moments: :mod:`muphy_lb.lattice.bases`.

A family relaxes with omega ("viscosity"), with the odd rate of Lambda ("magic", see :mod:`muphy_lb.operators.trt`), or
with a rate of its own ("constant"), which is then a parameter ``rate_FAMILY``.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import AfterValidator

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import is_number
from muphy_lb.case.choice import Key
from muphy_lb.lattice import BASES, Lattice, MomentBasis, combined
from muphy_lb.operators.operator import named
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.trt import MAGIC, MAGIC_HALF_WAY, MAGIC_KEY, odd_rate, odd_rate_node, relax_parts_node
from muphy_lb.operators.unroll import unroll

KINDS = ("viscosity", "magic", "constant")
RATE_WORDS = KINDS[:2]


def _rates(table: dict) -> dict:
    for family, rate in table.items():
        number = is_number(rate) and 0.0 < rate <= 2.0
        if not number and rate not in RATE_WORDS:
            raise ValueError(f"has {family} = {rate!r}; must be a number above 0 and up to 2, 'viscosity' or 'magic'")
    return table


RATES_KEY = Key(
    Annotated[dict[str, Any], AfterValidator(_rates)],
    'mrt: rate of each family of moments, a number, "viscosity" or "magic"; without one the set\'s published rate',
)

# Toelke (2008), Eq. (9), is Lambda = 3/16; d'Humieres et al. (2002) for the sets of 15 and 19 vectors.
DEFAULT_RATES = {
    "D2Q9": {},
    "D3Q15": {"bulk": 1.6, "energy_square": 1.2, "energy_flux": 1.6, "third": 1.2},
    "D3Q19": {"bulk": 1.19, "energy_square": 1.4, "energy_flux": 1.2, "fourth": 1.4, "third": 1.98},
    "D3Q27": {},
}


@cache
def mrt(families: tuple[tuple[str, str], ...]) -> Relaxation:
    """The relaxation "mrt" with the given (family, kind) pairs; kind is one of KINDS. Families left out relax with
    omega where they are even in the lattice vectors, and with the odd rate of Lambda where they are odd: with no pair
    at all, this is TRT on every lattice."""
    kinds = dict(families)
    constants = named(*(f"rate_{family}" for family, kind in families if kind == "constant"))

    def reference(f, f_eq, source, omega, parameters, lattice):
        basis = BASES[lattice.name]
        values = (omega, odd_rate(omega, parameters[MAGIC]), *(parameters[constant.name] for constant in constants))
        slots = _slots(basis, kinds)
        s = np.stack([np.broadcast_to(values[slots[family]], f.shape[1:]) for family in basis.families])
        m, inverse = basis.matrix, np.array(basis.inverse, float)
        change = s * combined(m, f_eq - f) + (1 - s / 2) * combined(m, source)
        return f + combined(inverse, change)

    def node(lattice, precision, jit, equilibrium, at):
        slots = (at[MAGIC], *(at[constant.name] for constant in constants))
        return _node(lattice, precision, jit, equilibrium, kinds, slots)

    keys = {MAGIC: MAGIC_KEY, "rates": RATES_KEY}
    return Relaxation("mrt", (*named(OMEGA, MAGIC), *constants), reference, node, keys=keys, chosen=_chosen)


def _chosen(lattice: Lattice, given: Mapping[str, Any]) -> tuple[Relaxation, tuple[float, ...]]:
    """The relaxation of a case; a given Lambda sets the rates of all odd families that have none."""
    basis, magic = BASES[lattice.name], given.get(MAGIC)
    odd = [family for family in basis.adjustable if not basis.is_even(family)] if magic is not None else []
    return mrt_for(lattice, dict.fromkeys(odd, "magic") | given.get("rates", {}), magic)


MRT = mrt(())


def mrt_for(lattice: Lattice, rates: Mapping | None = None, magic: float | None = None) -> tuple[Relaxation, tuple]:
    """The relaxation "mrt" of a lattice and its parameters after omega.

    Args:
        lattice: its default rates are DEFAULT_RATES, with omega for other even and Lambda for other odd families.
        rates: ``{family: rate}`` that replace the defaults: a number in (0, 2], "viscosity" or "magic".
        magic: Lambda, 3/16 unless given.

    Raises InputError: the lattice has no such family, or a rate or Lambda is outside its range.
    """
    rates, basis, magic = dict(rates or {}), BASES[lattice.name], MAGIC_HALF_WAY if magic is None else magic
    for family, rate in rates.items():
        _check(basis, family, rate)
    if not magic > 0:
        raise InputError(f"magic is {magic!r}; allowed: a number above 0, such as 3/16 or 1/4")
    chosen = DEFAULT_RATES[lattice.name] | rates
    ordered = [(family, chosen[family]) for family in basis.adjustable if family in chosen]
    kinds = tuple((family, rate if rate in KINDS else "constant") for family, rate in ordered)
    return mrt(kinds), (float(magic), *(float(rate) for _, rate in ordered if rate not in KINDS))


def _check(basis: MomentBasis, family: str, rate) -> None:
    allowed = basis.adjustable
    if family not in allowed:
        raise InputError(f"rates name the family {family!r}; {basis.lattice.name} has: {', '.join(allowed)}")
    if family == "shear" and rate != "viscosity":
        raise InputError(f"rate of 'shear' is {rate!r}; allowed: 'viscosity', which it sets; set the viscosity instead")
    is_number = isinstance(rate, (int, float)) and not isinstance(rate, bool)
    if rate not in RATE_WORDS and not (is_number and 0 < rate <= 2):
        raise InputError(f"rate of {family!r} is {rate!r}; allowed: a number in (0, 2], 'viscosity' or 'magic'")


def _slots(basis: MomentBasis, kinds: Mapping[str, str]) -> dict[str, int]:
    """Index of the rate of each family in (omega, odd rate of Lambda, constants...)."""
    default = {family: KINDS[0 if basis.is_even(family) else 1] for family in basis.families}
    constant_families = [family for family, kind in kinds.items() if kind == "constant"]
    return {
        family: 2 + constant_families.index(family) if kind == "constant" else KINDS.index(kind)
        for family, kind in {**default, **kinds}.items()
    }


class _Parity(NamedTuple):
    """Relaxation of the moments of one parity: all with the rate at index ``base``, and some rows with a different one.
    Rows and columns have an entry for the rest population and one for each pair of opposites; columns are p_q M_kq, and
    ``scale`` is 2 / N_k."""

    base: int
    slots: tuple
    rows: tuple
    columns: tuple
    scale: tuple


def _parity(basis: MomentBasis, kinds, is_even: bool, real) -> _Parity:
    """The rows of one parity; the base is the rate that leaves the fewest rows to correct."""
    slots = _slots(basis, kinds)
    families = [family for family in basis.adjustable if basis.is_even(family) == is_even]
    rates = [slots[family] for family in basis.families if family in families]
    base = max(sorted(set(rates)), key=rates.count)
    others = basis.rows_of(*(family for family in families if slots[family] != base))
    half = [0, *range(1, basis.lattice.q, 2)]
    rows = basis.matrix[others][:, half]
    return _Parity(
        base,
        tuple(slots[basis.families[k]] for k in others),
        tuple(tuple(real(x) for x in row) for row in rows),
        tuple(tuple(real(x) for x in row) for row in rows * np.array(basis.inner)[half]),
        tuple(real(2 / basis.norms[k]) for k in others),
    )


def _node(lattice, precision, jit, equilibrium, kinds, slots):
    """``slots``: positions of Lambda and of the constants among the parameters."""
    magic, constant_slot = slots[0], slots[1:]
    even_part, odd_part = equilibrium.parts(lattice, precision, jit)
    relax_parts, s_odd_of = relax_parts_node(lattice, precision, jit), odd_rate_node(precision, jit)
    even_base, even_slot, even_row, even_column, even_scale = _parity(BASES[lattice.name], kinds, True, precision.real)
    odd_base, odd_slot, odd_row, odd_column, odd_scale = _parity(BASES[lattice.name], kinds, False, precision.real)
    n_even, n_odd, n_constants = len(even_slot), len(odd_slot), sum(kind == "constant" for kind in kinds.values())
    n_rates, pair_count, n_parts = 2 + n_constants, lattice.q // 2, lattice.q // 2 + 1
    zero, half, one, minus_half = (precision.real(x) for x in (0, 0.5, 1, -0.5))

    def relax(f, state, force, omega, parameters):
        s = [omega] * n_rates
        s[1] = s_odd_of(omega, parameters[magic])
        for i in range(n_constants):
            s[i + 2] = parameters[constant_slot[i]]
        h_even, h_odd = even_part(state, force, one, minus_half), odd_part(state, force, one, minus_half)
        even_change = [zero] * n_even
        odd_change = [zero] * n_odd
        for k in range(n_even):
            even_change[k] = even_row[k][0] * (half * (h_even[0] - f[0]))
            for p in range(pair_count):
                even_change[k] += even_row[k][p + 1] * (h_even[p + 1] - half * (f[2 * p + 1] + f[2 * p + 2]))
            even_change[k] *= (s[even_slot[k]] - s[even_base]) * even_scale[k]
        for k in range(n_odd):
            for p in range(pair_count):
                odd_change[k] += odd_row[k][p + 1] * (h_odd[p + 1] - half * (f[2 * p + 1] - f[2 * p + 2]))
            odd_change[k] *= (s[odd_slot[k]] - s[odd_base]) * odd_scale[k]
        base_even = even_part(state, force, s[even_base], one - half * s[even_base])
        base_odd = odd_part(state, force, s[odd_base], one - half * s[odd_base])
        even = [zero] * n_parts
        odd = [zero] * n_parts
        for p in range(n_parts):
            even[p], odd[p] = base_even[p], base_odd[p]
            for k in range(n_even):
                even[p] += even_column[k][p] * even_change[k]
            for k in range(n_odd):
                odd[p] += odd_column[k][p] * odd_change[k]
        relax_parts(f, even, odd, s[even_base], s[odd_base])

    return jit(unroll(relax))
