"""Relaxation: the common interface of relaxation operators, which have one file each."""

from collections.abc import Callable
from dataclasses import dataclass

from muphy_lb.operators.operator import Parameter

OMEGA = "omega"
"""Name of the rate that sets the viscosity, 1 / tau; the first parameter of every relaxation."""


@dataclass(frozen=True)
class Relaxation:
    """A relaxation operator.

    Attributes:
        name: in case files.
        parameters: what it reads; the first is omega = 1 / tau.
        reference: ``reference(f, f_eq, source, omega, parameters, lattice)`` -> (Q, n) populations after collision, all
            full (not deviations); ``source`` comes without its factor 1 - s/2; ``omega`` is a number or (n,), the
            parameters are read by name.
        node: factory ``node(lattice, precision, jit, equilibrium, at)`` of
            ``relax(f, state, force, omega, parameters)``, in place on stored populations f - w; state = (deviation, ux,
            uy, uz, jx, jy, jz) and force = (fx, fy, fz). All but velocities are in stored units; ``at`` as in
            :class:`~muphy_lb.operators.operator.Operator`.
        lattices: names of the velocity sets that it is for; empty: all.
        equilibria: names of the equilibria that it is for; empty: all. Those with moments beyond the second of their
            own read from ``f_eq`` only density and velocity.
        is_linear: whether it is linear in ``f``, ``f_eq`` and ``source``.
    """

    name: str
    parameters: tuple[Parameter, ...]
    reference: Callable
    node: Callable
    lattices: tuple[str, ...] = ()
    equilibria: tuple[str, ...] = ()
    is_linear: bool = True

    def is_for(self, lattice: str, equilibrium: str) -> bool:
        """Whether it works on the velocity set and with the equilibrium of these names."""
        return lattice in (self.lattices or (lattice,)) and equilibrium in (self.equilibria or (equilibrium,))
