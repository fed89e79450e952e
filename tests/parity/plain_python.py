"""The node functions without a compiler: a model whose specification is what the compilers are given."""

from dataclasses import replace

import numpy as np

from muphy_lb.operators import WALLS, openings
from muphy_lb.physics.model import Model
from tests.support import Setup


class PlainPython(Setup):
    """A setup for the NumPy backend in which every operator is its node function, called node by node."""

    def model(self) -> Model:
        """Isothermal flow with its operators in plain Python."""
        model = super().model()
        wraps = {
            model.collision: collision_in_python,
            model.macroscopic: moments_in_python,
            openings(self.equilibrium): openings_in_python,
            WALLS: walls_in_python,
        }
        python = {operator: replace(operator, reference=wrap(self.node(operator))) for operator, wrap in wraps.items()}
        return replace(
            model,
            collision=python[model.collision],
            macroscopic=python[model.macroscopic],
            stages=tuple(replace(stage, operators=tuple(python[o] for o in stage.operators)) for stage in model.stages),
        )

    def node(self, operator):
        """The operator's node function with the identity as its compiler; the NumPy backend speaks lattice units."""
        return operator.node(self.lattice, replace(self.precision, unit=1.0), lambda function: function)


def collision_in_python(collide):
    """Specification of a collision, from its node function."""

    def reference(stored, n, lattice, parameters):
        result = np.array(stored)
        for column in range(result.shape[1]):
            f = result[:, column].copy()
            collide(f, n[column], parameters)
            result[:, column] = f
        return result

    return reference


def moments_in_python(density_and_velocity):
    """Specification of moments, from their node function."""

    def reference(stored, n, lattice, parameters):
        nodes = zip(stored.T, n, strict=True)
        return np.array([density_and_velocity(f, k, parameters) for f, k in nodes]).reshape(-1, 4).T

    return reference


def openings_in_python(incoming):
    """Specification of opening links, from their node function."""

    def reference(outgoing, q, condition, momentum, velocity, lattice):
        links = zip(outgoing, q, *condition, momentum, *velocity, strict=True)
        return np.array([incoming(*link) for link in links])

    return reference


def walls_in_python(returned):
    """Specification of links into slotted walls, from their node function."""

    def reference(outgoing, arriving, opposed, coefficients, value):
        a, b, c, d = coefficients
        links = zip(outgoing, arriving, opposed, a, b, c, d * value, strict=True)
        return np.array([returned(*link) for link in links])

    return reference
