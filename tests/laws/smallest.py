"""The smallest case of every physics: plane, a few nodes, in lattice units; what the laws of any physics range over."""

from collections.abc import Mapping

from muphy_lb.base.registry import PHYSICS
from muphy_lb.case.case import Case, case_from_dict

FLOW = {
    "geometry": {"shape": "channel", "spacing_m": 1.0, "options": {"length": 10, "height": 8, "width": 1}},
    "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
    "flow": {"acceleration_m_s2": [1e-4, 0.0, 0.0]},
    "lattice": {"name": "D2Q9", "time_step_s": 1.0},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 20, "ramp_steps": 0},
}
LOW = {"name": "low", "box_m": [[-1.0, -1.0, -1.0], [20.0, 0.0, 1.0]], "velocity_m_s": [0.01, 0.0, 0.0]}
THROUGH = [{"name": "inlet", "pressure_pa": 0.01}, {"name": "outlet", "pressure_pa": 0.0}]
HOT = {"temperature_k": 1e18}
"""At which nodes of a metre fluctuate."""
BEADS = {
    **{"name": "beads", "kind": "beads", "chains": 2, "beads_per_chain": 4, "mass_kg": 2.0, "radius_m": 0.05},
    "bonds": {"stiffness_n_m": 0.02, "length_m": 0.6},
    "repulsion": {"potential": "soft", "energy_j": 1e-5, "diameter_m": 0.5},
}
BEFORE_A_PLATE = [THROUGH[0] | {"second_fluid": 0.5}, THROUGH[1] | {"blocks_second": True}]
BODY = {"box_m": [[-1.0, -1.0, -1.0], [3.0, 4.0, 1.0]]}
DROP = {"centre_m": [6.0, 4.0, 0.0], "radius_m": 2.2, "velocity_m_s": [0.05, -0.1, 0.0]}
TRACERS = {"name": "tracers", "kind": "tracers", "count": 30, "diffusivity_m2_s": 1e-3}
SECTIONS: Mapping[str, dict] = {
    "thermal": {
        "thermal": {
            **{"reference_k": 300.0, "diffusivity_m2_s": 0.05, "expansion_1_k": 1e-3},
            "gravity_m_s2": [0.0, -1e-3, 0.0],
        },
        "walls": [LOW | {"temperature_k": 310.0}],
    },
    "fluctuating": {"fluctuating": {}, "fluid": HOT, "walls": [LOW]},
    "particles": {"fluctuating": {}, "fluid": HOT, "particles": [TRACERS, BEADS], "walls": [LOW]},
    "free_surface": {
        "free_surface": {"liquid": [BODY, DROP], "surface_tension_n_m": 1e-3},
        "walls": [LOW],
    },
    "two_fluid": {
        "two_fluid": {
            **{"interfacial_tension_n_m": 1e-2, "kinematic_viscosity_m2_s": 0.3, "contact_angle_deg": 60.0},
            **{"second": [BODY], "second_acceleration_m_s2": [0.0, -1e-4, 0.0], "structure": True},
        },
        "walls": [LOW],
        "geometry": {"options": {"ends": "open"}},
        "openings": BEFORE_A_PLATE,
    },
    "age": {
        "geometry": {"options": {"ends": "open"}},
        "openings": THROUGH,
        "age": {"diffusivity_m2_s": 0.05},
    },
    "species": {
        "geometry": {"options": {"ends": "open"}},
        "openings": [THROUGH[0] | {"species": {"drug": 1.0}, "species_inflow": {"salt": 2.0}}, THROUGH[1]],
        "species": [
            {
                "name": "drug",
                "diffusivity_m2_s": 0.05,
                "initial": 1.0,
                "rate": "-k * drug * site",
                "rates": {"k": 0.02},
                "waveform": {"period_s": 9.0, "sine": [0.5]},
            },
            {"name": "site", "schmidt": 4.0, "initial": 0.5, "decay_per_s": 0.01, "rate": "-0.02 * drug * site"},
            {
                **{"name": "salt", "diffusivity_m2_s": 0.1, "decay_per_s": 0.02, "production": 0.001},
                "bolus": {"start_s": 3.3, "length_s": 7.0},
            },
        ],
        "walls": [
            LOW | {"species": {"salt": 1.0}, "species_uptake_m_s": {"drug": 0.01}, "species_saturation": {"drug": 0.5}}
        ],
    },
    "dispersion": {"dispersion": {"diffusivities_m2_s": [0.05, 0.2]}, "walls": [LOW]},
    "dissipation": {"dissipation": {}, "walls": [LOW]},
    "porous_medium": {
        "porous_medium": [
            {"name": "clot", "permeability_m2": 0.05, "box_m": [[3.0, 2.0, -1.0], [7.0, 5.0, 1.0]]},
            {"name": "coil", "permeability_m2": 2.0, "centre_m": [1.0, 7.0, 0.0], "radius_m": 2.0},
        ],
        "walls": [LOW],
    },
    "dissolution": {
        "lattice": {"walls": "bouzidi"},
        "species": [{"name": "lime", "diffusivity_m2_s": 0.05, "initial": 1.0}],
        "walls": [LOW, {"name": "grain", "species_uptake_m_s": {"lime": 0.02}}],
        "dissolution": {
            **{"wall": "grain", "species": "lime", "role": "product", "molar_volume_m3": 0.01, "end_s": 100.0},
            **{"centre_m": [5.0, 5.0, 0.0], "radius_m": 1.8},
        },
    },
}
"""What the flow gets for a physics; openings, walls and species of one name are joined."""


def smallest(*physics: str, **more) -> Case:
    """The smallest case with some physics, and with the keys ``more`` of its sections."""
    tables: dict = FLOW
    for name in physics:
        if name not in SECTIONS:
            raise AssertionError(f"tests/laws/smallest.py has no case of the physics {name!r}; give SECTIONS one")
        tables = merged(tables, SECTIONS[name], by_name=("openings", "walls", "species"))
    return case_from_dict(merged(tables, more))


def has(name: str) -> frozenset[str]:
    """The physics that the smallest case of one has: itself, and those that it needs."""
    return frozenset(SECTIONS[name]) & frozenset(PHYSICS)


def merged(tables: Mapping, more: Mapping, by_name: tuple[str, ...] = ()) -> dict:
    """Tables with keys of others, which win; entries of the lists ``by_name`` of one name are joined, too."""
    found = dict(tables)
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
            value = merged(found[key], value)
        elif key in by_name:
            entries = ({each["name"]: each for each in some} for some in (found.get(key, ()), value))
            value = [*merged(*entries).values()]
        found[key] = value
    return found
