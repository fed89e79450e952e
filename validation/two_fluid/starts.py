"""Steady flow of two fluids from two starts of one saturation: mean flows forget where both fluids were above a
capillary number alone (Erpelding et al., Phys. Rev. E 88, 053004 (2013))."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.measure.series_mean import mean_and_error
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, at_least, case, shown
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.two_fluid.common import flows_of, phase_of, refuse_half

NU, ANGLE = 0.2, 30.0
#: Pack: edge, radius of its spheres, force; tensions, so that capillary numbers are 0.021, 0.046 and 0.12.
PACK, QUICK_PACK = (48, 7.0, 2e-3), (16, 5.0, 4e-3)
TENSIONS, QUICK_TENSIONS = (0.1, 0.05, 0.02), (0.05,)
SHARES, QUICK_SHARES = (0.3, 0.5, 0.7), (0.5,)  # of the second fluid
SLABS, LOOKS = 4, 512  # looks at a flow as fast as that of one fluid: cycles of a quarter of the pack are seen
LENGTHS, QUICK_LENGTHS = 8.0, 0.2  # of the pack, through which both flow; the second half is measured
MOBILE, OVERLAP = 0.02, 0.8  # capillary number from which bars overlap, at this share of the values


class Means(NamedTuple):
    """Mean flows (2,) of both fluids over that of one alone, their standard errors, the capillary number, and the
    saturation of the second one."""

    flows: np.ndarray
    errors: np.ndarray
    number: float
    saturation: float


@case("two-fluid-starts", "self-consistency (P23): above a capillary number mean flows forget how both fluids started")
def starts(settings: Settings) -> Iterator:
    """Relative permeabilities of a periodic pack from slabs across the flow and from invasion.

    Judged is the share of the values whose standard errors overlap, of all and of those above ``MOBILE``."""
    refuse_half(settings)
    pack = QUICK_PACK if settings.quick else PACK
    alone = _flow(settings, *pack)
    alone.step(pack[0] ** 2)
    single = float(np.asarray(alone.velocity_m_s())[:, 0].sum())
    overlaps, is_mobile = list[bool](), list[bool]()
    for tension in QUICK_TENSIONS if settings.quick else TENSIONS:
        for share in QUICK_SHARES if settings.quick else SHARES:
            slabs, invaded = _both(settings, pack, tension, share, single)
            number, bars = 0.5 * (slabs.number + invaded.number), slabs.errors + invaded.errors
            for k, name in enumerate(("first", "second")):
                told = f"Ca {number:.2g}, saturation {slabs.saturation:.2f}: {name} fluid (bars {bars[k]:.2g})"
                yield shown(told, slabs.flows[k], invaded.flows[k])
            overlaps += (np.abs(slabs.flows - invaded.flows) <= bars).tolist()
            is_mobile += [number > MOBILE] * 2
    if settings.quick:
        return
    yield at_least("share of values whose bars overlap", OVERLAP, float(np.mean(overlaps)), 0.0)
    of_mobile = float(np.mean(np.array(overlaps)[is_mobile]))
    yield at_least(f"share of values above Ca {MOBILE:g} whose bars overlap", OVERLAP, of_mobile, 0.0)


def _both(
    settings: Settings, pack: tuple[int, float, float], tension: float, share: float, single: float
) -> tuple[Means, Means]:
    """Flows from slabs and from invasion, at the same saturation."""
    own: dict[str, Any] = {
        "interfacial_tension_n_m": tension,
        "kinematic_viscosity_m2_s": NU,
        "contact_angle_deg": ANGLE,
    }
    slabs = _means(settings, _flow(settings, *pack, own | _slabs(pack[0], share)), single)
    return slabs, _means(settings, _flow(settings, *pack, own | {"second_saturation": slabs.saturation}), single)


def _flow(settings: Settings, size: int, radius: float, force: float, two_fluid: Mapping | None = None) -> Solver:
    """Of one fluid, or of two, in a periodic pack of spheres under a force along x."""
    options = {"size": size, "radius": radius, "porosity": 0.42}
    geometry = {"shape": "sphere_pack", "keep": "largest", "options": options}
    tables: dict[str, Any] = {"lattice": {"name": "D3Q19"}, "flow": {"acceleration_m_s2": [force, 0.0, 0.0]}}
    if two_fluid:
        tables["two_fluid"] = two_fluid
    return lattice_simulation(settings, geometry, NU, **tables)


def _slabs(size: int, share: float) -> dict:
    """The second fluid in slabs across the flow, as it comes in slugs."""
    begins, thick = np.arange(SLABS) * size / SLABS - 0.25, share * size / SLABS
    return {"second": [{"box_m": [[float(x), -9.0, -9.0], [float(x) + thick, 999.0, 999.0]]} for x in begins]}


def _means(settings: Settings, flow: Solver, single: float) -> Means:
    """Of a flow through so many lengths of its box, over the second half."""
    n_nodes, size = whole_nodes(flow).n_nodes, whole_nodes(flow).shape[2]
    saturation = float((0.5 - 0.5 * phase_of(flow)).mean())  # as it starts: interfaces change the mean of the phase
    lengths = QUICK_LENGTHS if settings.quick else LENGTHS
    n_steps, gone, looks = max(1, int(lengths * size * n_nodes / single / LOOKS)), 0.0, []
    while gone < lengths:
        flow.step(n_steps)
        looks.append([each[0] for each in flows_of(flow)])
        gone += n_steps * sum(looks[-1]) / n_nodes / size
    mean, error = mean_and_error(np.array(looks[len(looks) // 2 :]))
    tension = flow.case.two_fluid.interfacial_tension_n_m
    return Means(mean / single, error / single, float(mean.sum()) / n_nodes * NU / tension, saturation)


CASES = (starts,)
