"""Relaxation: the common interface of relaxation operators, which have one file each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muphy_lb.base.errors import InputError
from muphy_lb.case.choice import Key
from muphy_lb.lattice import Lattice
from muphy_lb.operators.operator import Parameter

OMEGA = "omega"  #: name of the rate that sets the viscosity, 1 / tau; the first parameter of every relaxation


@dataclass(frozen=True)
class Relaxation:
    """A relaxation operator."""

    name: str  #: in case files
    parameters: tuple[Parameter, ...]  #: what it reads; the first is omega = 1 / tau
    #: ``reference(f, f_eq, source, omega, parameters, lattice)`` -> (Q, n) populations after collision, all full (not
    #: deviations); ``source`` comes without its factor 1 - s/2; ``omega`` is a number or (n,), the parameters are read
    #: by name
    reference: Callable
    #: factory ``node(lattice, precision, jit, equilibrium, at)`` of ``relax(f, state, force, omega, parameters)``, in
    #: place on stored populations f - w; state = (deviation, ux, uy, uz, jx, jy, jz) and force = (fx, fy, fz). All but
    #: velocities are in stored units; ``at`` as in :class:`~muphy_lb.operators.operator.Operator`.
    node: Callable
    lattices: tuple[str, ...] = ()  #: names of the velocity sets that it is for; empty: all
    #: names of the equilibria that it is for; empty: all. Those with moments beyond the second of their own read from
    #: ``f_eq`` only density and velocity.
    equilibria: tuple[str, ...] = ()
    is_linear: bool = True  #: whether it is linear in ``f``, ``f_eq`` and ``source``
    #: the keys of [lattice] in case files that only it and others that declare them read, by name. The key of the name
    #: of a parameter gives that parameter its value.
    keys: Mapping[str, Key] = field(default_factory=dict, compare=False)
    #: ``chosen(lattice, given)`` in place of :meth:`valued`, for one whose parameters depend on the lattice
    chosen: Callable | None = field(default=None, compare=False)

    def is_for(self, lattice: str, equilibrium: str) -> bool:
        """Whether it works on the velocity set and with the equilibrium of these names."""
        return lattice in (self.lattices or (lattice,)) and equilibrium in (self.equilibria or (equilibrium,))

    def valued(self, lattice: Lattice, given: Mapping[str, Any]) -> tuple["Relaxation", tuple[float, ...]]:
        """The relaxation on a lattice and the values of its parameters after omega, from the keys that a case gives.
        Raises InputError: a parameter has no value."""
        if self.chosen:
            return self.chosen(lattice, given)
        names = [parameter.name for parameter in self.parameters[1:]]
        values = {name: given.get(name, key.default) for name, key in self.keys.items()}
        for name in names:
            if values.get(name) is None:
                remedy = f"give lattice.{name}" if name in self.keys else f"declare the key {name!r} in its keys"
                raise InputError(f"lattice.collision = {self.name!r} needs a value of {name!r}; {remedy}")
        return self, tuple(float(values[name]) for name in names)
