"""The node functions without a compiler: a model whose specification is what the compilers are given."""

from dataclasses import fields, replace

import numpy as np

from muphy_lb.model.model import Model
from tests.support import Setup


class PlainPython(Setup):
    """A setup for the NumPy backend in which every operator is its node function, called node by node: bits depend
    neither on the place of a node nor on the shape of a matrix."""

    @classmethod
    def of(cls, setup: Setup) -> "PlainPython":
        """The same as another setup computes."""
        return cls(**{field.name: getattr(setup, field.name) for field in fields(setup)})

    def model(self) -> Model:
        """Isothermal flow with its operators in plain Python."""
        model = super().model()
        wraps = {
            "collision": collision_in_python,
            "macroscopic": moments_in_python,
            "openings": openings_in_python,
            "walls": walls_in_python,
        }
        return replace(model, **{name: self.in_python(getattr(model, name), wrap) for name, wrap in wraps.items()})

    def in_python(self, operator, wrap):
        """The operator with its node function, which has the identity as its compiler, as its specification; the NumPy
        backend speaks lattice units."""
        node = operator.compile(self.lattice, replace(self.precision, unit=1.0), lambda function: function)
        names = tuple(parameter.name for parameter in operator.parameters)
        return replace(operator, reference=wrap(node, names))


def in_order(parameters, names) -> tuple:
    """Parameters, given by name, in the order in which a node function reads them."""
    return tuple(parameters[name] for name in names)


def collision_in_python(collide, names):
    """Specification of a collision, from its node function."""

    def reference(stored, n, lattice, parameters):
        result, values = np.array(stored), in_order(parameters, names)
        for column in range(result.shape[1]):
            f = result[:, column].copy()
            collide(f, n[column], values)
            result[:, column] = f
        return result

    return reference


def moments_in_python(density_and_velocity, names):
    """Specification of moments, from their node function."""

    def reference(stored, n, lattice, parameters):
        nodes, values = zip(stored.T, n, strict=True), in_order(parameters, names)
        return np.array([density_and_velocity(f, k, values) for f, k in nodes]).reshape(-1, 4).T

    return reference


def openings_in_python(incoming, names):
    """Specification of opening links, from their node function."""

    def reference(outgoing, q, condition, momenta, plane, velocity, lattice):
        links = zip(outgoing, q, *condition, np.array(momenta).T, plane.T, *velocity, strict=True)
        return np.array([incoming(*link) for link in links])

    return reference


def walls_in_python(update, names):
    """Specification of nodes at walls, from their node function."""

    def reference(arriving, leaving, walls, lattice, rounded):
        changed = np.zeros(arriving.shape, dtype=bool)
        for m in np.flatnonzero(walls.into_walls):
            f = arriving[:, m].copy()
            bits = update(f, leaving[:, m], walls.b[m :: walls.rest.size], m, m, walls.rest.size, walls)
            changed[:, m] = [bits >> q & 1 for q in range(lattice.q)]
            arriving[:, m] = f
        return changed

    return reference
