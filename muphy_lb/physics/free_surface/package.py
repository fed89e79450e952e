"""A free surface as a physics package (:mod:`muphy_lb.physics.package`)."""

from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16, PRECISIONS
from muphy_lb.base.registry import PHYSICS as EVERY_PHYSICS
from muphy_lb.base.units import CS2
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.domain import streaming_named
from muphy_lb.domain.wall_shapes import BesideWalls, wall_shapes
from muphy_lb.geometry.nodes import GeometryHeader, box_told
from muphy_lb.measure.flow_view import FromStored, OutputField, whole_nodes
from muphy_lb.operators import COMPRESSIBLE
from muphy_lb.parallel import from_root
from muphy_lb.physics.free_surface.bubbles import Bubbles, GasLaw, GasSphere, OpenGas
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, NO_TENSION, PARABOLOID, TENSION
from muphy_lb.physics.free_surface.cells import CELL, FILL
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.physics.free_surface.filling import Snapshot, Wetting, fill, share_of_liquid
from muphy_lb.physics.free_surface.frames import SurfacePicture
from muphy_lb.physics.free_surface.isosurface import SurfaceSnapshots
from muphy_lb.physics.free_surface.model import free_surface
from muphy_lb.physics.free_surface.observers import BubbleSeries, GaugeSeries, SurfaceSeries, placed_gauges
from muphy_lb.physics.free_surface.pour import add_block, add_drop, offered
from muphy_lb.physics.free_surface.section import WETTED
from muphy_lb.physics.free_surface.stability import FASTEST_FALL, NO_GAS, fall_warnings, tension_warnings
from muphy_lb.physics.free_surface.start import (
    InitialLiquid,
    LiquidRegions,
    SpheresRegion,
    initial_fields,
)
from muphy_lb.physics.package import Physics
from muphy_lb.setup.advice.costs import BYTES_PER_DIRECTION
from muphy_lb.setup.force import uniform_acceleration_m_s2
from muphy_lb.setup.initial import given_flow

BYTES_OF_CELL, BYTES_OF_BUBBLE = 2, 4
LARGEST_DEVIATION = 0.3  # density of the gas pressure, minus 1, up to which the liquid counts as incompressible


class FreeSurface(Physics):
    """A liquid with a free surface.

    Attributes:
        gas_deviation: density of the gas pressure minus 1.
        tension: surface tension, lattice units.
        contact_angle_deg: contact angle at walls, if one is asked for.
        wetting: the walls that liquid touches.
        bubbles: gas that is compressed; None if all gas has one pressure.
    """

    name = "free_surface"
    excludes = frozenset(EVERY_PHYSICS)  # they do not know nodes without fluid
    sets_pressure = True
    methods = MappingProxyType({"add_drop": add_drop, "add_block": add_block})
    draws_frames = True
    volume_fraction = "fill"
    keeps_balance = False  # what enters may stay and take the place of gas
    becomes_steady = follows_darcy = False  # it falls, splashes and sloshes
    keeps_mass_at_walls = True  # which is the volume of the liquid
    allowed_density_change = LARGEST_DEVIATION
    cpu_ns = 90.0  # one core of an EPYC, half full, single precision; 65 empty, 105 full, 200 with tension

    def __init__(self, case, header: GeometryHeader, units):
        _refuse(case, header)
        section, self._case, self._units, self._header = case.free_surface, case, units, header
        gravity = units.acceleration_to_lattice(uniform_acceleration_m_s2(case, header))
        self._gravity = float(np.linalg.norm(gravity))
        self._up = -gravity / self._gravity if self._gravity else None
        self._viscosity = units.viscosity_to_lattice(case.fluid.viscosity_m2_s)
        regions = LiquidRegions(case, header, units, self._up)
        self._liquid = InitialLiquid(regions.all(), header, regions.gas())
        self._has_no_gas = regions.fill_all()
        self._fall = self._liquid.fall(self._up) if self._up is not None else 0.0
        self._fall_speed = float(np.sqrt(2.0 * self._gravity * self._fall))
        self._is_hydrostatic = section.hydrostatic
        self.gas_deviation = float(units.pressure_to_density(section.gas_pressure_pa, CS2) - 1.0)
        if abs(self.gas_deviation) > LARGEST_DEVIATION:
            raise InputError(
                f"free_surface.gas_pressure_pa is {section.gas_pressure_pa:g}: with this time step that is a density of"
                f" {1.0 + self.gas_deviation:.3g} in lattice units; allowed: {1 - LARGEST_DEVIATION:g} to"
                f" {1 + LARGEST_DEVIATION:g}; set flow.reference_pressure_pa to the pressure of the"
                f" gas (it is {units.reference_pressure_pa:g}), or {self._shorter(abs(self.gas_deviation))}"
            )
        self.tension = section.surface_tension_n_m * units.spacing_m**2 / units.energy_j
        if 6.0 * self.tension > LARGEST_DEVIATION:
            raise InputError(
                f"free_surface.surface_tension_n_m is {section.surface_tension_n_m:g}, which is {self.tension:.3g} in"
                f" lattice units: a drop of one voxel would be unstable; allowed: up to {LARGEST_DEVIATION / 6:g}; set"
                f" {self._shorter(6.0 * self.tension)}, or check the unit: water has 0.072 N/m"
            )
        if self.tension:
            self.lacks_at_walls = "the pull of the surface along the lines where it meets them"
        self.contact_angle_deg = section.contact_angle_deg
        self._walls = BesideWalls()  # until :meth:`check` has found them
        self.wetting = Wetting()
        self.bubbles = self._bubbles(case, regions.gas())
        self.offered = {} if self.bubbles else offered(header)
        self.output_fields = {"fill": OutputField("1", fill, FromStored((CELL, FILL), share_of_liquid))}
        if WETTED in (*case.output.fields, case.output.frames_field):
            self.output_fields[WETTED] = OutputField("1", self.wetting.field)

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of cell, support, mass, filling, density that is held, surface tension (two values), normals of walls,
        the longest table of neighbours, and bubbles with their pressures."""
        real, section = np.dtype(PRECISIONS[case.compute.precision].real).itemsize, case.free_surface
        of_bubbles = BYTES_OF_BUBBLE + real if section.bubbles else 0
        n_reals = 3 + 2 * (section.surface_tension_n_m > 0.0) + 3 * (section.contact_angle_deg is not None)
        return BYTES_OF_CELL + n_reals * real + of_bubbles + (lattice.q - 1) * BYTES_PER_DIRECTION

    def _shorter(self, deviation: float) -> str:
        """Largest time step at which a deviation of the density, which scales with its square, is allowed."""
        longest_s = self._units.time_step_s * float(np.sqrt(LARGEST_DEVIATION / deviation))
        return f"lattice.time_step_s = {0.99 * longest_s:.3g}"

    def _bubbles(self, case, gas: SpheresRegion | None) -> Bubbles | None:
        """The bubbles of the case; ``gas``: the spheres among them."""
        section = case.free_surface.bubbles
        if section is None:
            return None
        absolute = section.pressure_pa / self._units.pascals_per_density(CS2)
        law = GasLaw(absolute, self.gas_deviation, section.gamma, LARGEST_DEVIATION)
        real, n_nodes = PRECISIONS[case.compute.precision].real, self._header.n_nodes
        spheres = () if gas is None else [self._sphere(k, each, gas) for k, each in enumerate(section.spheres)]
        return Bubbles(law, section, OpenGas(section, self._header), real, n_nodes, self._is_hydrostatic, spheres)

    def _sphere(self, number: int, section, gas: SpheresRegion) -> GasSphere:
        """A sphere of gas with its pressure at the start. Raises InputError: the pressure is beyond the limits of the
        lattice."""
        centre, radius, change = gas.centres[number], float(gas.radii[number]), None
        if section.pressure_pa is not None:
            beyond_pa = section.pressure_pa - self._case.free_surface.bubbles.pressure_pa
            change = beyond_pa / self._units.pascals_per_density(CS2)
            if abs(deviation := self.gas_deviation + change) > LARGEST_DEVIATION:
                raise InputError(
                    f"free_surface.bubbles.spheres[{number}].pressure_pa is {section.pressure_pa:g}: with this time"
                    f" step that is a density of {1.0 + deviation:.3g} in lattice units; allowed:"
                    f" {1 - LARGEST_DEVIATION:g} to {1 + LARGEST_DEVIATION:g}; set {self._shorter(abs(deviation))}"
                )
        dimension = int((np.array(self._header.shape) > 1).sum())
        return GasSphere(centre, radius, change, 3.0 * (dimension - 1) * self.tension / radius)

    def check(self, view) -> None:
        """Refuse gauges outside the fluid; find the walls."""
        if self.contact_angle_deg is not None:
            self._walls = from_root(view.communicator, lambda: wall_shapes(whole_nodes(view), view.lattice)[0])
        placed_gauges(view)

    def extend(self, flow):
        """The flow with gas where there is no liquid."""
        if flow.fluid.equilibrium is not COMPRESSIBLE:
            raise InputError(
                f"lattice.equilibrium is {flow.fluid.equilibrium.name!r} with [free_surface], which sets the density"
                f" of the gas pressure; allowed: {COMPRESSIBLE.name!r}"
            )
        if self.tension == 0.0:
            return free_surface(flow, self.gas_deviation, NO_TENSION, {}, self.bubbles)
        capillarity, values, walls = PARABOLOID, {TENSION: 6.0 * self.tension}, None
        if self.contact_angle_deg is not None:
            capillarity, walls = CONTACT_ANGLE, self._walls
            values[COS_ANGLE] = float(np.cos(np.radians(self.contact_angle_deg)))
        return free_surface(flow, self.gas_deviation, capillarity, values, self.bubbles, walls)

    def initial_flow(self, view):
        """Density, which grows with depth and is higher in drops, and velocity, unless the case gives them."""
        density, velocity = given_flow(view.case, view.header, view.domain, view.units)
        density = self._density(view) if density is None else np.broadcast_to(density, view.domain.n_nodes)
        return density, self._liquid.velocity(view.domain) if velocity is None else velocity

    def _density(self, view) -> np.ndarray:
        """(n,) density by the weight of the liquid and by surface tension. Raises InputError: it differs too much from
        1."""
        domain = view.domain
        density = np.full(domain.n_nodes, 1.0 + self.gas_deviation)
        if self.tension:
            density += 6.0 * self.tension * self._liquid.curvature(domain)
        if self._is_hydrostatic and self._up is not None:
            density += 3.0 * self._gravity * self._liquid.depth(domain, self._up)
        deviation = view.communicator.maximum(max(float(density.max()) - 1.0, 1.0 - float(density.min())))
        if deviation > LARGEST_DEVIATION:
            raise InputError(
                f"[[free_surface.liquid]]: at the start the density of the liquid differs by {deviation:.3g} from 1 in"
                f" lattice units, by its weight and surface tension; allowed: {LARGEST_DEVIATION:g}; set"
                f" {self._shorter(deviation)}, or check flow.acceleration_m_s2 and the size of the geometry"
            )
        return density

    def initial_fields(self, view):
        """Cells and their filling. Raises InputError: there is no liquid, a region that has none, or no gas that could
        be compressed."""
        cell, filled = self._liquid.cells(view.domain, view.lattice)
        if not view.communicator.total(int((cell != 0).sum())):
            raise InputError(
                f"[[free_surface.liquid]]: no voxel of the geometry has liquid in it; {box_told(self._header)}, and"
                " some of them may be solid; move or enlarge it"
            )
        for number, is_wet in enumerate(self._liquid.wets(view.domain), 1):
            if not view.communicator.total(int(is_wet)):
                raise InputError(
                    f"[[free_surface.liquid]]: no voxel of the geometry has liquid of table number {number} in it;"
                    f" {box_told(self._header)}, and some of them may be solid; move or enlarge the region, or remove"
                    " it"
                )
        if self.bubbles is not None:
            self.bubbles.check(view, cell)
        return initial_fields(cell, filled, self.initial_flow(view)[0])

    def describe(self) -> str:
        """Gas pressure, surface tension, and speed of a fall through the height of the liquid, as text."""
        tension = f", surface tension {self.tension:.4g} in lattice units" if self.tension else ""
        text = f"free surface: gas at density {1.0 + self.gas_deviation:.6g}{tension}"
        if self.contact_angle_deg is not None:
            text += f", contact angle {self.contact_angle_deg:g} degrees"
        if self.bubbles is not None:
            text += f", compressed with p V^{self.bubbles.law.gamma:g}"
        if self._up is None:
            return text
        reynolds = self._fall_speed * self._fall / self._viscosity
        return (
            f"{text}; a fall through {self._fall:.0f} voxels reaches {self._fall_speed:.3g} voxels a step (best below"
            f" {FASTEST_FALL:g}), Reynolds number {reynolds:.3g}"
        )

    def warnings(self) -> tuple[str, ...]:
        """Warnings of surface tension that is unstable with the collision at this viscosity, of falls that are too fast
        for the lattice or not resolved by its voxels, and of liquid that leaves no gas."""
        falls = fall_warnings(self._case, self._units, self._fall_speed)
        full = (NO_GAS,) if self._has_no_gas else ()
        return (*full, *tension_warnings(self._case, self.tension / self._viscosity**2), *falls)

    def sight(self):
        """View with gravity pointing down, through the first gauge."""
        if self._up is None:
            return None
        from muphy_lb.output.pictures.cut import Sight

        gauges = self._case.free_surface.gauges
        return Sight(self._up, np.asarray(gauges[0].position_m) if gauges else None)

    def observers(self, view, folder, resume_step):
        """The time series of the liquid, pictures of it, and gauges and surface if the case asks for them."""
        fall = self._fall * self._units.spacing_m, float(self._units.acceleration_to_si(self._gravity))
        liquid = Snapshot(view)
        found = [
            SurfaceSeries(view, folder, resume_step, self.wetting, *fall),
            SurfacePicture(view, folder, resume_step, liquid),
        ]
        if self.bubbles is not None:
            found.append(BubbleSeries(view, folder, resume_step, self.bubbles))
        if view.case.free_surface.gauges:
            found.append(GaugeSeries(view, folder, resume_step))
        if view.case.free_surface.surface_every_steps and view.case.output.vtk:
            found.append(SurfaceSnapshots(view, folder, resume_step, liquid))
        return tuple(found)


def _refuse(case, header: GeometryHeader) -> None:
    """Raise InputError for settings that cannot be combined with a free surface."""
    if streaming_named(case.compute.streaming).stores_before_collision:
        raise InputError(
            f"compute.streaming is {case.compute.streaming!r} with [free_surface], which changes populations between"
            " streaming and collision; allowed: 'pull', 'aa'"
        )
    linkwise = [f"the opening {opening.name!r}" for opening in header.openings]
    linkwise += [f"the moving wall {wall.name!r}" for wall in case.walls if wall.velocity_m_s or wall.rotation_rad_s]
    if linkwise and streaming_named(case.compute.streaming).in_place:
        raise InputError(
            f"compute.streaming is {case.compute.streaming!r} with [free_surface] and {linkwise[0]}, which overwrites"
            " what leaves before it is counted; set compute.streaming = 'pull'"
        )
    if case.compute.precision == FP16.name:
        raise InputError(
            "compute.precision is 'fp16' with [free_surface]: mass would be lost in its three digits; allowed: 'fp32',"
            " 'fp64'"
        )
    slipping = [section.name for section in case.walls if section.slip]
    if slipping:
        raise InputError(
            f"walls.{slipping[0]}.slip is true with [free_surface]: what a slipping wall reflects may come from gas,"
            " which has no populations; set it to false"
        )
    if case.lattice.walls != HALF_WAY:
        raise InputError(
            f"lattice.walls is {case.lattice.walls!r} with [free_surface]: interpolation at walls needs populations"
            f" that gas does not have; allowed: {HALF_WAY!r}"
        )


PHYSICS = FreeSurface
