"""Whatever ends a rank ends the run soon, in one voice that names it, and costs no checkpoint."""

import re

import numpy as np
import pytest

from muphy_lb.base.errors import BackendError, DivergedError, InputError, OutputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.run.checkpoint import newest
from muphy_lb.setup.geometry import load_nodes
from tests.parallel import kills
from tests.parallel.disturbed import populations
from tests.parallel.moments import ANY_MOMENT, WRITING, Moment, moments
from tests.parallel.outcomes import table
from tests.vessel import STARTING, command, vessel, write_case

pytestmark = pytest.mark.mpi

EXACT = {"backend": "cpu"}  # NumPy's sums depend on the size of the arrays, hence on the ranks
N_RANKS, N_STEPS, EVERY, PATIENCE_S = 3, 120, 10, 30.0
SOON_S = 120.0  # with the start of all ranks on a busy machine; a rank that waits for a dead one would wait for ever
OUTPUT = {"checkpoint_every_steps": EVERY}
MOMENTS = (
    Moment(WRITING, 0, 80, 0.0, n_ranks=N_RANKS),
    pytest.param(Moment(ANY_MOMENT, 2, 50, 0.013, n_ranks=N_RANKS), marks=pytest.mark.night),
)


def checkpoints(folder):
    return sorted((folder / "checkpoints").glob("step_*.h5"))


def ended(mpirun, *arguments):
    """The command on two ranks, which must have come to its end."""
    return mpirun(2, arguments, timeout=SOON_S)


def voice(done):
    """The one line of the run's own on stderr; MPI's line about an abort is the only other that may be there."""
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("Abort(")]
    return line


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return write_case(tmp_path_factory.mktemp("case"), compute=EXACT, output=OUTPUT, run={"steps": N_STEPS})


@pytest.fixture(scope="module")
def end(case, tmp_path_factory):
    """Populations of the undisturbed run of one rank."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert command("run", case, "-o", folder) == STARTING
    return populations(folder)


@pytest.fixture(scope="module", params=MOMENTS, ids=lambda moment: moment.when)
def killed(request, case, end, tmp_path_factory, mpirun):
    """A moment, what came of killing a rank then, and the output folder; one rank has compiled before for all."""
    out = tmp_path_factory.mktemp("killed") / "out"
    return request.param, kills.kill(case, out, request.param), out


def test_a_killed_rank_ends_the_run_soon(killed):
    _, (done, seconds, _), _ = killed
    assert done.returncode != 0 and seconds < PATIENCE_S


def test_a_killed_rank_leaves_no_process(killed):
    _, (_, _, left_over), _ = killed
    assert left_over == 0


def test_a_killed_rank_is_named_in_one_line_that_says_how_to_go_on(killed):
    moment, (done, _, _), out = killed
    assert voice(done).startswith(f"muphy-lb: error: rank {moment.rank} of {N_RANKS} (process ")
    assert "was killed by SIGKILL" in voice(done) and voice(done).endswith(f"muphy-lb resume {out}")


def test_a_killed_run_continues_bit_for_bit_on_one_rank(killed, end):
    _, _, out = killed
    assert newest(out / "checkpoints").path == checkpoints(out)[-1]
    assert command("resume", out) == STARTING
    assert np.array_equal(populations(out), end)


@pytest.mark.night
def test_twenty_runs_killed_at_random_moments_end_cleanly_and_continue(tmp_path):
    outcomes = kills.study(tmp_path, moments(20, seed=7))
    assert all(outcome.is_clean for outcome in outcomes), table(outcomes)


@pytest.fixture
def stopped(case, tmp_path):
    """Output folder of a run that one rank has brought to step 20."""
    command("run", case, "-o", tmp_path / "out", "--set", "run.steps=20")
    return tmp_path / "out"


def test_a_flow_that_diverges_on_one_rank_ends_all_in_one_voice(stopped, tmp_path, mpirun):
    nodes, _ = load_nodes(vessel())
    x, y, z = place = nodes.coordinates([nodes.n_nodes // 2])[0]
    field = np.zeros((*nodes.shape, 3))
    field[z, y, x] = 5e4
    np.save(tmp_path / "field.npy", field)
    more = ["--set", f"flow.acceleration_file='{tmp_path / 'field.npy'}'", "--set", f"run.steps={N_STEPS}"]
    done = ended(mpirun, "-m", "muphy_lb", "resume", stopped, *more)
    assert done.returncode == DivergedError.exit_code
    assert voice(done).startswith("muphy-lb: error: the run diverged at step 30")
    told = re.search(r"at voxel \((\d+), (\d+), (\d+)\)", voice(done))
    assert np.abs(np.array(told.groups(), dtype=int) - place).max() <= EVERY  # a voxel a step
    assert newest(stopped / "checkpoints").step == 20


@pytest.mark.night
def test_a_gauge_outside_the_fluid_is_refused_on_all_ranks_beside_walls_that_one_has_found(tmp_path, mpirun):
    surface = {"surface_tension_n_m": 1e-3, "contact_angle_deg": 60.0, "liquid": [{"level_m": 3e-3}]}
    tables = {
        "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 8, "height": 8}},
        "fluid": {"density_kg_m3": 1e3, "kinematic_viscosity_m2_s": 5e-5},
        "flow": {"acceleration_m_s2": [0.0, -1.0, 0.0]},
        "free_surface": surface | {"gauges": [{"name": "far", "position_m": [1.0, 1.0, 1.0]}]},
        "lattice": {"name": "D2Q9", "time_step_s": 1e-4},
        "compute": EXACT,
        "run": {"steps": 1},
    }
    (tmp_path / "case.toml").write_text(case_from_dict(tables).to_toml())
    done = ended(mpirun, "-m", "muphy_lb", "run", tmp_path / "case.toml", "-o", tmp_path / "out")
    assert done.returncode == InputError.exit_code
    assert "free_surface.gauges.far: position_m is (1, 1, 1), which is not in the fluid" in voice(done)


MEMORY_EXHAUSTED = """
import sys
from muphy_lb.run import solver
from muphy_lb.__main__ import main
from muphy_lb.base.errors import BackendError
from muphy_lb.parallel import connect
owner, name = {target}
given, rank = getattr(owner, name), connect().rank
def exhausted(*arguments, **options):
    if rank == 1:
        raise BackendError("the device has 12 bytes left")
    return given(*arguments, **options)
setattr(owner, name, exhausted)
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("solver, 'make_backend'", id="at the start", marks=pytest.mark.night),
        pytest.param("solver.Solver, 'advance'", id="in a step"),
    ],
)
def test_memory_that_one_rank_lacks_ends_all_and_names_it(target, case, stopped, mpirun):
    script = MEMORY_EXHAUSTED.format(target=target)
    done = ended(mpirun, "-c", script, "resume", stopped, "--set", f"run.steps={N_STEPS}")
    assert done.returncode == BackendError.exit_code
    assert voice(done) == "muphy-lb: error: the device has 12 bytes left [rank 1 of 2]"
    assert newest(stopped / "checkpoints").step == 20


# MPI needs files of its own: the limit comes after its start. Only rank 0 writes.
FULL_DISK = """
import resource, sys
from muphy_lb.__main__ import main
from muphy_lb.parallel import connect
if connect().rank == 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
main(sys.argv[1:])
"""


def test_a_disk_that_fills_on_one_rank_ends_all_and_costs_no_checkpoint(stopped, mpirun):
    done = ended(mpirun, "-c", FULL_DISK, "resume", stopped, "--set", f"run.steps={N_STEPS}")
    assert done.returncode == OutputError.exit_code
    assert "File too large" in voice(done) and voice(done).endswith("[rank 0 of 2]")
    assert sorted((stopped / "checkpoints").iterdir()) == checkpoints(stopped)
    assert newest(stopped / "checkpoints").step == 20


SAME_FAILURE = """
from muphy_lb.parallel import connect
communicator = connect()
communicator.barrier()
if communicator.rank >= 1:
    raise ValueError("the same on many ranks")
communicator.barrier()
"""


def test_many_ranks_that_fail_alike_speak_with_one_voice(mpirun):
    done = mpirun(3, ["-c", SAME_FAILURE], timeout=SOON_S)
    assert done.returncode == 1 and done.stderr.count("ValueError: the same on many ranks") == 1


def test_a_script_may_catch_on_all_ranks_what_fails_on_rank_0_alone(mpirun, tmp_path):
    done = mpirun(2, ["-m", "tests.parallel.calls_that_fail", tmp_path], timeout=SOON_S)
    lines = sorted(line for line in done.stdout.splitlines() if " after " in line)
    assert done.returncode == 0 and len(lines) == 2 * 21, done.stderr
    told = [line.replace("FileNotFoundError", "CallbackError") for line in lines]  # each rank gets its own
    assert told[::2] == told[1::2] and not any(": nothing" in line for line in lines)
    of_rank_0 = [line for line in done.stdout.splitlines() if line.startswith("values of rank 0: (0.001, ")]
    assert len(of_rank_0) == 2 and of_rank_0[0] == of_rank_0[1]


LEAVING = """
import sys
from muphy_lb.parallel import connect
communicator, (code, others_go_on) = connect(), map(int, sys.argv[1:])
communicator.barrier()
if communicator.rank == 1:
    sys.exit(code)
if others_go_on:
    communicator.broadcast(None)
print("the end")
"""


@pytest.mark.parametrize(("code", "others_go_on", "expected"), [(3, 1, 3), (0, 1, 1), (3, 0, 3), (0, 0, 0)])
def test_a_rank_that_leaves_its_script_ends_those_that_would_wait_for_it(mpirun, code, others_go_on, expected):
    done = mpirun(2, ["-c", LEAVING, code, others_go_on], timeout=SOON_S)
    assert done.returncode == expected
    if others_go_on:
        assert "rank 1 of 2 has reached the end of its script" in done.stderr and done.stdout == ""
    else:
        assert (done.stderr, done.stdout) == ("", "the end\n")


def flip(path, place):
    """Flip one bit of a file."""
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


def somewhere_in_the_populations(path):
    flip(path, path.stat().st_size // 2)


def test_damaged_checkpoints_alone_are_refused(stopped):
    for path in checkpoints(stopped):
        somewhere_in_the_populations(path)
    with pytest.raises(InputError, match=r"no valid checkpoint \(2 skipped\)"):
        newest(stopped / "checkpoints")
