"""Members of a pack have the bits that each of them has alone, and end at the same step."""

import numpy as np
import pytest

from muphy_lb import InputError, Study
from muphy_lb.apps.study import packed_members
from muphy_lb.apps.study.pack import Pack, alone
from muphy_lb.apps.study.packing import Survey, common, why_alone
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.criteria import SteadyState
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from tests.channel import OPEN, periodic_channel
from tests.channel import changed as of_channel
from tests.vessel import changed, vessel

EVERY = 10
LIST = {"sampler": "list"}
PREPARED = {"shape": None, "spacing_m": None, "options": None, "file": "vessel.h5"}
ONE = SerialCommunicator()
WINDKESSEL = {"resistance_pa_s_m3": 1e6, "compliance_m3_pa": 1e-8}
SPLIT = {"flow_split": {"fraction": 0.5}}


def member(velocity_m_s: float, radius_m: float, compute=None, lattice=None, outlets=None, fluid=None, **run):
    """A vessel of which inflow and radius are uncertain."""
    first, second = outlets or ({"pressure_pa": 0.0}, {"windkessel": WINDKESSEL})
    return vessel(
        geometry={"options": {"generations": 1, "parent_radius_m": radius_m}},
        openings=[
            {"name": "inlet", "velocity_m_s": velocity_m_s, "profile": "parabolic"},
            {"name": "outlet_1", **first},
            {"name": "outlet_2", **second},
        ],
        lattice={"lattice_velocity": None, "time_step_s": 2e-4, **(lattice or {})},
        compute={"backend": "cpu", **(compute or {})},
        fluid=fluid or {},
        output={"wall_shear": True},
        run={
            "steps": 200,
            "steady_watch": ["flow_rates"],
            "steady_tolerance": 0.02,
            "steady_interval_steps": EVERY,
            **run,
        },
    )


def by_itself(case, nodes) -> Solver:
    """The flow of a member at its end, by the criterion of its case."""
    solver = Solver(case, ONE, nodes)
    watch, reason = SteadyState(solver), None
    while reason is None and solver.step_number < solver.numerics.steps:
        solver.advance(EVERY)
        reason = watch.verdict()
    return solver


def packed(cases) -> list[tuple]:
    """(end of a member in a pack, its flow continued by itself, the flow that never was in one)."""
    nodes = [load_nodes(case)[0] for case in cases]
    surveys = {number: Survey(case, ONE, each) for number, (case, each) in enumerate(zip(cases, nodes, strict=True))}
    assert len({str(common(survey)) for survey in surveys.values()}) == 1
    pack, found = Pack(surveys, nodes, ONE), []
    while pack is not None:
        ends = pack.advance()
        for ended in ends:
            moved = Solver(cases[ended.key], ONE, nodes[ended.key])
            if ended.reason:
                alone(moved, ended)
            found.append((ended, moved, by_itself(cases[ended.key], nodes[ended.key])))
        pack = pack.without([ended.key for ended in ends])
    return found


@pytest.mark.parametrize(
    ("compute", "lattice", "outlets"),
    [
        ({"precision": "fp32", "streaming": "pull"}, {}, None),
        ({"precision": "fp64", "streaming": "aa"}, {"walls": "bouzidi"}, ({**SPLIT}, {**SPLIT})),
    ],
    ids=["windkessel", "split, in place, cut links"],
)
def test_members_of_a_pack_have_the_bits_of_each_alone(compute, lattice, outlets):
    """Of other sizes and inflows, which end at other steps, so that the rest moves to a smaller pack."""
    cases = [member(v, r, compute, lattice, outlets) for v, r in ((0.02, 4e-3), (0.013, 4.6e-3), (0.02, 4.3e-3))]
    found = packed(cases)
    assert sorted(ended.key for ended, _, _ in found) == [0, 1, 2]
    for ended, moved, single in found:
        assert single.step_number == ended.step
        assert all(np.array_equal(*rows) for rows in zip(moved.populations(), single.populations(), strict=True))
        assert moved.openings() == single.openings()


def test_a_member_is_not_steady_while_its_openings_rise():
    cases = [member(v, 4e-3, ramp_steps=150, steady_tolerance=0.1, steady_time_s=4e-5) for v in (0.02, 0.013)]
    for ended, _, single in packed(cases):
        assert ended.reason and single.step_number == ended.step >= 150


def test_an_unstable_member_leaves_the_others_as_they_are():
    """Of three that share their outflow, the one that sends nearly all through one branch is too fast there."""
    outlets = [[{"flow_split": {"fraction": share}} for share in (part, 1.0 - part)] for part in (0.5, 0.98, 0.6)]
    cases = [member(0.02, 4e-3, outlets=each, max_mach=0.032, steps=150, steady_tolerance=None) for each in outlets]
    found = packed(cases)
    assert [ended.key for ended, _, _ in found if not ended.reason] == [1]
    for ended, moved, single in found:
        if ended.reason:
            assert all(np.array_equal(*rows) for rows in zip(moved.populations(), single.populations(), strict=True))


def test_zones_of_openings_are_those_of_each_member_alone():
    """At a cell Reynolds number above 10; a member below it, which has no zones, shares no pack with them."""
    cases = [fast(0.04, 4e-3), fast(0.05, 4.6e-3)]
    slow = fast(0.01, 4e-3)
    kinds = [common(Survey(case, ONE, load_nodes(case)[0])) for case in (cases[0], slow)]
    assert kinds[0] != kinds[1]
    for _, moved, single in packed(cases):
        assert single.numerics.has_zones
        assert all(np.array_equal(*rows) for rows in zip(moved.populations(), single.populations(), strict=True))


def fast(velocity_m_s: float, radius_m: float):
    """A vessel of less viscosity."""
    sections = {"fluid": {"kinematic_viscosity_m2_s": 3.5e-6}, "lattice": {"time_step_s": 1e-3}}
    sections["outlets"] = [{"pressure_pa": 0.0}, {"pressure_pa": 0.0}]
    return member(velocity_m_s, radius_m, steps=30, steady_tolerance=None, max_mach=0.5, **sections)


def test_members_that_repeat_by_themselves_run_alone(tmp_path):
    """The channel has no walls along z, whatever geometry.periodic says."""
    solid = {"lattice": {"name": "D3Q19"}, "geometry": {"options": {**OPEN["geometry"]["options"], "width": 3}}}
    parameters = [{"name": "inflow", "key": "openings.inlet.velocity_m_s", "values": [1e-3, 2e-3]}]
    given = {"case": of_channel(OPEN, walls=[], **solid), "study": LIST | {"parameters": parameters, "pack": 2}}
    study, told = Study(given, tmp_path), []
    study.run(say=told.append)
    assert study.table.has_ended.all() and not any("together" in text for text in told)


def test_members_run_alone_where_their_pack_cannot_be_made(tmp_path, monkeypatch):
    """And those that wait for the next pack are packed."""

    class Refusing(Pack):
        made = 0

        def __init__(self, *given):
            Refusing.made += 1
            if Refusing.made == 1:
                raise InputError("too many")
            super().__init__(*given)

    monkeypatch.setattr(packed_members, "Pack", Refusing)
    parameters = [{"name": "inflow", "key": "openings.inlet.velocity_m_s", "values": [0.01, 0.012, 0.014, 0.016]}]
    given = changed(lattice={"lattice_velocity": None, "time_step_s": 2e-4}, run={"steps": 10, "ramp_steps": 0})
    study, told = Study({"case": given, "study": LIST | {"parameters": parameters, "pack": 2}}, tmp_path), []
    study.run(say=told.append)
    assert study.table.has_ended.all()
    assert "too many" in told[0] and any("2 members together took" in text for text in told)


def test_members_behind_one_that_is_like_no_other_are_packed(tmp_path):
    """A given lattice velocity makes the time step that of the inflow."""
    parameters = [{"name": "inflow", "key": "openings.inlet.velocity_m_s", "values": [0.02, 0.01, 0.01]}]
    study = LIST | {"parameters": parameters, "pack": 3}
    told: list[str] = []
    Study({"case": changed(run={"steps": 10, "ramp_steps": 0}), "study": study}, tmp_path).run(say=told.append)
    assert told[0].startswith("2 members together")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (periodic_channel(walls=[], geometry={"periodic": ["x"]}), "its box repeats"),
        (periodic_channel(), "it has labelled walls"),
        (periodic_channel(walls=[]), "it is a flow in a plane"),
        (vessel(initial={"velocity_m_s": [0.0, 0.0, 0.01]}), "it starts from a given state"),
        (vessel(compute={"streaming": "push"}), "it streams by push"),
        (vessel(run={"steady_tolerance": 1e-3}), "it watches more than flow_rates"),
        (vessel(age={}), "it has a physics besides the flow"),
        (vessel(geometry=PREPARED), "its geometry is prepared"),
        (vessel(flow={"acceleration_file": "given.npy"}), "a file gives its acceleration"),
        (vessel(output={"frames_every_steps": 5}), "it writes frames or fields on its way"),
        (vessel(output={"fields_every_steps": 5, "vtk": True}), "it writes frames or fields on its way"),
    ],
)
def test_what_no_pack_offers_is_told(case, reason):
    assert reason in why_alone(case)


def test_packed_and_single_members_write_the_same_table(tmp_path):
    """Wall shear stress and all; a member whose flow becomes unstable fails with the same words."""
    given = changed(
        lattice={"lattice_velocity": None, "time_step_s": 2e-4},
        output={"wall_shear": True},
        run={"steps": 100, "steady_tolerance": 0.02, "steady_interval_steps": EVERY, "max_mach": 0.1},
    )
    parameters = [
        {"name": "inflow", "key": "openings.inlet.velocity_m_s", "values": [0.01, 0.018, 0.3, 0.02]},
        {"name": "radius", "key": "geometry.options.parent_radius_m", "values": [4e-3, 4.4e-3, 4e-3, 4.4e-3]},
    ]
    tables = []
    for pack in (4, 1):
        study = Study(
            {"case": given, "study": {"sampler": "list", "parameters": parameters, "pack": pack}}, tmp_path / str(pack)
        )
        study.run()
        study.write(with_pictures=False)
        tables.append((tmp_path / str(pack) / "members.csv").read_text())
    assert tables[0] == tables[1] and tables[0].count("ended") == 3 and "failed" in tables[0]
