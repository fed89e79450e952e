"""The model of a time step on many GPUs: its limits, and that fitting finds what made the data."""

from dataclasses import replace

import pytest

from muphy_lb.bench.scaling.model import (
    Link,
    Machine,
    Observation,
    PartitionCut,
    PartSurface,
    RankLoad,
    across,
    cube_surface,
    fit_machine,
    fit_surface,
    step_seconds,
)

MACHINE = Machine(s_per_node=5e-11, s_overhead=4e-6, s_per_exchange=2e-5, s_per_byte=1e-11, overlaps=True)
NODES, BYTES = 4e6, 4.0
LOADS = [RankLoad(4e6), RankLoad(2e6, 3e4, 6e5, 1.0), RankLoad(1e6, 4e4, 8e5, 3.0), RankLoad(5e5, 4e4, 7e5, 6.0)]
ROUND_OFF = 1e-9


def observed(machine: Machine, load: RankLoad) -> Observation:
    """What a machine that is just like the model shows."""
    sizes = (64.0, load.halo_bytes) if load.messages else ()
    exchanges = tuple((size, machine.s_per_exchange + size * machine.s_per_byte) for size in sizes)
    return Observation(load, step_seconds(machine, load), exchanges)


def fitted(machine: Machine, loads=LOADS):
    """The fit to what a machine shows."""
    return fit_machine([observed(machine, load) for load in loads])


def test_without_a_halo_gpus_share_a_step_ideally():
    assert step_seconds(MACHINE, RankLoad(NODES)) == NODES * 5e-11
    machine, surface = Machine(s_per_node=5e-11), PartSurface(0.0, 0.0, 0.0)
    one = step_seconds(machine, RankLoad(NODES))
    for n_gpus in (2, 8, 4096):
        assert step_seconds(machine, surface.load(NODES, n_gpus, BYTES)) == pytest.approx(one / n_gpus, rel=1e-12)


def test_many_gpus_cannot_be_faster_than_the_latency_of_their_messages():
    surface = PartSurface(0.0, 0.0, 6.0, is_bounded=False)
    machine = Machine(5e-11, s_overhead=4e-6, s_per_exchange=2e-5, s_per_message=8e-6)
    assert step_seconds(machine, surface.load(NODES, 10**6, BYTES)) == pytest.approx(4e-6 + 2e-5 + 6 * 8e-6)


def test_a_halo_costs_nothing_behind_a_longer_interior_and_its_time_without_overlap():
    load = RankLoad(1e6, 1e4, 1e5, 1.0)
    quick = replace(MACHINE, s_per_byte=0.0, s_per_exchange=0.0)
    assert step_seconds(MACHINE, load) == step_seconds(quick, load)
    halo = 2e-5 + 8e5 * 1e-11
    assert step_seconds(replace(MACHINE, overlaps=False), LOADS[2]) == pytest.approx(4e-6 + 1e6 * 5e-11 + halo)


@pytest.mark.parametrize("worse", ["s_per_node", "s_overhead", "s_per_exchange", "s_per_byte", "s_per_message"])
@pytest.mark.parametrize("overlaps", [True, False])
def test_a_higher_cost_never_makes_a_step_faster(worse, overlaps):
    machine = replace(MACHINE, overlaps=overlaps, s_per_message=1e-6)
    dearer = replace(machine, **{worse: 3.0 * getattr(machine, worse)})
    assert all(step_seconds(dearer, load) >= step_seconds(machine, load) for load in LOADS)


def test_a_network_adds_its_latency_and_the_slower_bandwidth_counts():
    beyond = across(MACHINE, Link(gb_s=25.0, latency_us=5.0))
    assert (beyond.s_per_byte, beyond.s_per_message) == (pytest.approx(1e-9 / 25.0), pytest.approx(5e-6))


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_fit_finds_the_machine_that_made_the_data(overlaps):
    machine = replace(MACHINE, overlaps=overlaps)
    fit = fitted(machine)
    for name in ("s_per_node", "s_overhead", "s_per_exchange", "s_per_byte"):
        assert getattr(fit.machine, name) == pytest.approx(getattr(machine, name), rel=1e-6), name
    assert fit.machine.overlaps == overlaps and max(map(abs, fit.residuals)) < ROUND_OFF


def test_residuals_are_the_relative_errors_of_the_steps():
    observations = [observed(MACHINE, load) for load in LOADS]
    observations[1] = replace(observations[1], step_s=2.0 * observations[1].step_s)
    fit = fit_machine(observations)
    expected = [step_seconds(fit.machine, seen.load) / seen.step_s - 1.0 for seen in observations]
    assert fit.residuals == pytest.approx(expected) and fit.residuals[1] < -0.4


def test_messages_of_two_sizes_tell_latency_from_bandwidth_and_one_gpu_tells_neither():
    machine = fitted(MACHINE, LOADS[:2]).machine
    assert (machine.s_per_exchange, machine.s_per_byte) == (pytest.approx(2e-5), pytest.approx(1e-11))
    machine = fitted(MACHINE, LOADS[:1]).machine
    assert (machine.s_per_byte, machine.s_per_exchange, machine.s_overhead) == (0.0, 0.0, 0.0)


def test_costs_are_never_negative():
    seen = [observed(MACHINE, load) for load in LOADS]
    short, (size, _) = seen[3].exchanges
    seen[3] = replace(seen[3], exchanges=((short[0], 1.0), (size, 1e-7)), step_s=1e-7)
    machine = fit_machine(seen).machine
    assert min(machine.s_per_byte, machine.s_per_exchange, machine.s_overhead) >= 0.0


def cut_of_cube(edge: int, parts_along: int) -> PartitionCut:
    """A cube of fluid with rims, cut into cubes: what the part in the middle, or a corner if there is none, has."""
    part = edge / parts_along
    faces = 3 if parts_along == 2 else 6 * (1 - 1 / parts_along)
    return PartitionCut(parts_along**3, part**3, faces * part**2, 5 * faces * part**2, 26 * (1 - 1 / parts_along), 1.0)


def test_the_surface_of_cubes_is_found_from_any_number_of_parts():
    surface = fit_surface([cut_of_cube(120, k) for k in (2, 3, 4)], is_bounded=True)
    assert (surface.populations, surface.edge_nodes) == (pytest.approx(30.0), pytest.approx(6.0))
    assert surface.neighbours == pytest.approx(26.0)
    assert (cube_surface(5, 1.0, 1.0).populations, cube_surface(5, 1.0, 1.0).edge_nodes) == (30.0, 6.0)


def test_a_surface_gives_back_the_load_that_it_was_found_from():
    cut = cut_of_cube(120, 4)
    load = fit_surface([cut], is_bounded=True).load(120**3, 64, BYTES)
    assert load == RankLoad(
        pytest.approx(cut.nodes), pytest.approx(cut.edge_nodes), pytest.approx(4 * cut.populations), pytest.approx(19.5)
    )


def test_loads_of_the_busiest_part_stay_within_their_bounds():
    load = PartSurface(30.0, 6.0, 26.0, is_bounded=False).load(64.0, 8, BYTES)
    assert (load.edge_nodes, load.messages) == (8.0, 7)
    assert PartSurface(30.0, 6.0, 26.0).load(NODES, 1, BYTES) == RankLoad(NODES)
    assert PartSurface(0.0, 0.0, 0.0, imbalance=1.25).load(NODES, 4, BYTES).nodes == 1.25 * NODES / 4
    assert fit_surface([], is_bounded=True) is None
