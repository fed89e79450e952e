"""Relaxation: how fast each part of f - f^eq decays; one operator, one file, all with this contract."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Relaxation:
    """A relaxation operator.

    Attributes:
        name: in case files.
        n_rates: how many of the leading parameters of a collision are its own; the first is omega.
        reference: ``reference(f, f_eq, source, omega, rates, lattice)`` -> (Q, n) populations after collision, all full
            (not deviations); ``source`` comes without its factor 1 - s/2; ``omega`` is a number or (n,).
        node: factory ``node(lattice, precision, jit, equilibrium)`` of
            ``relax(f, state, force, omega, rates)``, in place on stored populations f - w; state = (deviation, ux, uy,
            uz, jx, jy, jz) and force = (fx, fy, fz). All but velocities are in stored units.
    """

    name: str
    n_rates: int
    reference: Callable
    node: Callable
