"""Dispersion in a periodic flow as a physics package (:mod:`muphy_lb.physics.package`).

A dissolved scalar with a mean slope of 1 along an axis is c = x + b(x, y, z, t), b periodic:

    db/dt + u . grad b = D lap b - u_x,   n . grad (x + b) = 0 at walls

which forgets its start in the time that diffusion takes across the pores, not in the time in which a pulse has become
wide. Then the coefficient of dispersion, of the fluid, is

    D_L = D <1 + db/dx> - <u_x (b - <b>)>

(Brenner, Phil. Trans. R. Soc. A 297, 81 (1980); Carbonell, Whitaker, Chem. Eng. Sci. 38, 1795 (1983)). b falls by the
mean of u_x all the time, which changes nothing. The scheme computes the populations of c: what arrives from the next
node brings the slope along. D_L is the mean of all that crosses faces of voxels, and so that of a pulse of the scheme.
"""

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import lattice_named
from muphy_lb.physics.dispersion.observers import DispersionRecord, DispersionSeries, Spreading
from muphy_lb.physics.dispersion.section import SERIES_FILE
from muphy_lb.physics.scalar import CarriedScalar, ScalarPhysics, refuse_half_precision, scalar_boundary

AXES = "xyz"


class Dispersion(ScalarPhysics):
    """The periodic part of a scalar of slope 1 for each diffusivity [voxels]."""

    name = "dispersion"
    excludes = frozenset({"fluctuating", "particles", "two_fluid", "age", "species"})

    def __init__(self, case, header: GeometryHeader, units: Units):
        refuse_half_precision(case, "[dispersion]")
        if header.openings:
            raise InputError(
                "[dispersion] is a property of a flow in a periodic box, and the case has openings; leave one of the"
                " two out, or compute the residence times of a [[species]]"
            )
        section, self._axis = case.dispersion, AXES.index(case.dispersion.axis)
        dimension = lattice_named(case.lattice.name).dimension
        if self._axis >= dimension or not header.periodic[self._axis]:
            allowed = ", ".join(AXES[k] for k in range(dimension) if header.periodic[k]) or "none"
            raise InputError(
                f"dispersion.axis is {section.axis!r}, along which the box is not periodic; axes that are: {allowed}."
                " Give one of them, or geometry.periodic"
            )
        self._changing = [key for key in case.flow.not_uniform if not key.endswith("file")]
        boundary = scalar_boundary(header, {})
        diffusivities = [float(units.viscosity_to_lattice(each)) for each in section.diffusivities_m2_s]
        scalars = [
            CarriedScalar(
                f"closure_{number}",
                dimension,
                diffusivity,
                boundary,
                unit="m",
                in_si=units.spacing_m,
                slope_along=self._axis,
            )
            for number, diffusivity in enumerate(diffusivities, start=1)
        ]
        super().__init__(*scalars)
        self.output_fields, self.probed = {}, ()

    @classmethod
    def count(cls, case) -> int:
        """Number of scalars, one for each diffusivity."""
        return len(case.dispersion.diffusivities_m2_s)

    @classmethod
    def monitored_in(cls, case) -> tuple[str, ...]:
        """The coefficients."""
        return ("dispersion",)

    def describe(self) -> str:
        """Along what, and how many coefficients, as text."""
        return f"dispersion along {AXES[self._axis]} for {len(self.scalars)} diffusivities"

    def warnings(self) -> tuple[str, ...]:
        """A flow that changes in time, besides those of all scalars."""
        told = tuple(
            f"{key} changes the flow in time, and with it the coefficients of dispersion: those of the summary are of"
            f" its last moment; take means over whole periods of {SERIES_FILE}"
            for key in self._changing[:1]
        )
        return (*super().warnings(), *told)

    def monitored(self, view):
        """The function that measures the coefficients."""
        return {"dispersion": Spreading(view, self.scalars, self._axis).monitored}

    def observers(self, view, folder, resume_step):
        """The coefficients over time, and their record at the end."""
        spreading = Spreading(view, self.scalars, self._axis)
        series = DispersionSeries(spreading, view, folder, resume_step)
        return series, DispersionRecord(spreading, series, view, folder)


PHYSICS = Dispersion
