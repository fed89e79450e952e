"""The age of the fluid as a physics package (:mod:`muphy_lb.physics.package`).

Walls let nothing through, and fluid that enters brings no age along: the flux of age through an inlet, carried and
diffused, is zero (Danckwerts, Chem. Eng. Sci. 2, 1 (1953)). At outlets the age is carried out without a gradient; what
flows back there has the age of the node. So in a steady flow the mean age of what leaves, weighted by the flow, is
volume over flow rate, whatever diffusion does.
"""

from dataclasses import replace

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16, PRECISIONS
from muphy_lb.base.units import Units
from muphy_lb.domain import FLUX, OUTFLOW, ScalarBoundary
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import scalar_lattice
from muphy_lb.measure.flow_view import FlowView, FromStored, OutputField, PreparedView, ProbedScalar
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import (
    AT_NEIGHBOURS,
    SCALAR_STREAMING,
    Field,
    FieldValue,
    ScalarStreaming,
    Stage,
    Value,
    row_names,
)
from muphy_lb.operators import STORE_VELOCITY, VELOCITY_FIELDS
from muphy_lb.operators.scalar_transport import RATES, scalar_rates
from muphy_lb.physics.age.observers import AgeMean, AgeSeries, OutletAges
from muphy_lb.physics.age.operator import AGE, age_collision
from muphy_lb.physics.age.section import FIELD
from muphy_lb.physics.package import Physics
from muphy_lb.setup.advice.costs import BYTES_PER_DIRECTION

POPULATIONS = "age_populations"
VELOCITY = {name: FieldValue(name) for name in VELOCITY_FIELDS}


class Age(Physics):
    """The age of the fluid, which the flow does not feel."""

    name = "age"

    def __init__(self, case, header: GeometryHeader, units: Units):
        if not any(opening.kind == "outlet" for opening in header.openings):
            raise InputError("[age] needs an outlet through which age leaves, and the case has none; leave [age] out")
        if case.compute.precision == FP16.name:
            raise InputError(
                "compute.precision is 'fp16' with [age], which grows by less than its digits in a step;"
                " allowed: 'fp32', 'fp64'"
            )
        diffusivity_m2_s = case.age.diffusivity_m2_s or case.fluid.viscosity_m2_s / (case.age.schmidt or 1.0)
        self.diffusivity = float(units.viscosity_to_lattice(diffusivity_m2_s))
        self._boundary, self._diffusivity_m2_s = age_boundary(header), diffusivity_m2_s
        at_nodes = FromStored((FIELD,), lambda steps: units.steps_to_time(steps.astype(np.float64)))
        self.output_fields = {FIELD: OutputField("s", age_s, at_nodes)}
        self.probed = (ProbedScalar(FIELD, "age_s", lambda steps: steps * units.time_step_s),)

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the stored velocity, the age, two copies of its populations, and the table of addresses."""
        q_count = scalar_lattice(lattice.dimension).q
        real = np.dtype(PRECISIONS[case.compute.precision].real)
        return (4 + 2 * q_count) * real.itemsize + (q_count - 1) * BYTES_PER_DIRECTION

    def extend(self, flow: Flow) -> Flow:
        """The flow with an age."""
        scalar = scalar_lattice(flow.lattice.dimension)
        populations = Field(POPULATIONS, self._boundary, ScalarStreaming(scalar, self.diffusivity))
        rates = zip(RATES, scalar_rates(scalar, self.diffusivity), strict=True)
        parameters: dict[str, Value] = {**dict(rates), AGE: FieldValue(FIELD), **VELOCITY}
        reads = (POPULATIONS + AT_NEIGHBOURS, *VELOCITY_FIELDS)
        operators, writes = (age_collision(scalar),), (POPULATIONS, FIELD)
        stage = Stage(POPULATIONS, SCALAR_STREAMING, operators, parameters, POPULATIONS, reads, writes)
        stored = tuple(Field(name) for name in VELOCITY_FIELDS)
        flow = flow.observed_by(STORE_VELOCITY, VELOCITY).with_stages(after=(stage,))
        return replace(flow, name=f"{flow.name}-{FIELD}").with_fields(populations, Field(FIELD, is_state=True), *stored)

    def initial_fields(self, view: PreparedView) -> dict[str, np.ndarray]:
        """All fluid has just entered."""
        names = row_names(POPULATIONS, scalar_lattice(view.lattice.dimension).q)
        return dict.fromkeys((*names, FIELD), np.zeros(1))

    def describe(self) -> str:
        """Diffusivity and stability, as text."""
        return (
            f"age of the fluid: diffusivity {self._diffusivity_m2_s:.4g} m2/s; without ripples where a node is slower"
            f" than {2.0 * self.diffusivity:.3g} voxels a step (Peclet number of a voxel 2)"
        )

    def observers(self, view, folder, resume_step):
        """The time series, and what comes of it at the end."""
        ages = OutletAges(view, POPULATIONS)
        return AgeSeries(ages, view, folder, resume_step), AgeMean(ages, self._diffusivity_m2_s, view, folder)


def age_boundary(header: GeometryHeader) -> ScalarBoundary:
    """No flux through walls and inlets, no gradient at outlets."""
    n_walls, kinds = len(header.walls), [opening.kind for opening in header.openings]
    kind = np.full(n_walls + 1 + len(kinds), FLUX)
    kind[n_walls + 1 :] = [OUTFLOW if each == "outlet" else FLUX for each in kinds]
    return ScalarBoundary(kind, np.zeros(kind.size), n_walls)


def age_s(view: FlowView) -> np.ndarray | None:
    """(n,) age [s], on rank 0; collective."""
    age = view.model_field(FIELD)
    return None if age is None else view.units.steps_to_time(age.astype(np.float64))


PHYSICS = Age
