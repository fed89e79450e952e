"""Cases whose runs a campaign disturbs: how they are started, and how they differ in the end from undisturbed runs."""

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import MappingProxyType

import h5py
import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.run.checkpoint import PATTERN, newest
from tests.conftest import find_launcher, launcher_settings, run_and_stop
from tests.vessel import ENDED, changed

N_STEPS, EVERY = 600, 20
RESUME_S = 300.0
MARK = "MUPHY_DISTURBED_RUN"
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
NOTHING_TO_CONTINUE = 2
TORN = ".step_*.tmp"
OF_FLOW = ("steps", "max_velocity_m_s", "mean_velocity_m_s", "openings", "walls", "wall_shear", "verdict", "warnings")

WARM = {
    "thermal": {
        "reference_k": 300.0,
        "diffusivity_m2_s": 2e-5,
        "expansion_1_k": 3e-3,
        "gravity_m_s2": [0.0, 0.0, -9.81],
    },
    "openings": [
        {"name": "inlet", "velocity_m_s": 0.02, "temperature_k": 310.0},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.0},
    ],
}
PULSE = {"period_s": 0.4, "mean": 1.0, "sine": [0.5]}
PULSATILE = [
    {"name": "inlet", "velocity_m_s": 0.02, "waveform": PULSE},
    {"name": "outlet_1", "pressure_pa": 0.0},
    {"name": "outlet_2", "pressure_pa": 0.0},
]
# In a vessel of millimetres nothing fluctuates unless it is this hot.
HOT_K = 1e12
CHAINS = {
    "name": "chains",
    "kind": "beads",
    "chains": 12,
    "beads_per_chain": 6,
    "mass_kg": 3e-6,
    "radius_m": 3e-5,  # light friction: those that pile up at an outlet share nodes
    "substeps": 2,
    "bonds": {"stiffness_n_m": 1e-4, "length_m": 8e-4},
    "repulsion": {"potential": "soft", "energy_j": 1e-11, "diameter_m": 6e-4},
    "snapshots_every_steps": 100,
}
TRACERS = {"name": "dye", "kind": "tracers", "count": 300, "diffusivity_m2_s": 1e-7}
PIPE = {"shape": "stenosis", "spacing_m": 1e-3, "options": {"length": 36, "radius": 6.2, "extent": 20.0}}
THROUGH = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
LABELLED = [{"name": "low", "box_m": [[-1.0, -1.0, -1.0], [1.0, 1.0, 0.012]]}]
SHEAR = {"wall_shear": True}
TANK = {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 22, "height": 14, "width": 5}}
CASES: Mapping[str, dict] = MappingProxyType(
    {
        "vessel": {},
        "in place": {"compute": {"streaming": "aa"}, "output": SHEAR},
        "push": {"compute": {"streaming": "push"}, "output": SHEAR},
        "pulsatile": {"openings": PULSATILE, "output": {"wall_shear": True}},
        "thermal": WARM,
        "thermal in place": WARM | {"compute": {"streaming": "aa", "precision": "fp64"}},
        "interpolated": {
            "geometry": PIPE,
            "openings": THROUGH,
            "lattice": {"walls": "bouzidi", "collision": "trt", "lattice_velocity": 0.015},
            "walls": LABELLED,
            "output": SHEAR,
        },
        "dissipating": {"dissipation": {}, "output": SHEAR},
        "free surface": {
            "geometry": TANK,
            "openings": [],
            "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-5},
            "lattice": {"lattice_velocity": None, "time_step_s": 5e-3},
            "flow": {"acceleration_m_s2": [0.0, -0.002, 0.0]},
            "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [0.008, 0.009, 1.0]]}]},
            "compute": {"precision": "fp32"},
            "output": SHEAR,
        },
        "particles": {
            "fluctuating": {},
            "fluid": {"temperature_k": HOT_K},
            "particles": [CHAINS, TRACERS],
            "output": SHEAR,
        },
    }
)


def write_case(folder: Path, name: str, compute: Mapping) -> Path:
    """One of the cases, with all that a run writes."""
    sections = dict(CASES[name])
    output = {"checkpoint_every_steps": EVERY, "vtk": True, "fields_every_steps": 100} | sections.pop("output", {})
    compute = {"backend": "cpu"} | sections.pop("compute", {}) | dict(compute)
    table = changed(**sections, compute=compute, run={"steps": N_STEPS, "ramp_steps": 0}, output=output)
    path = folder / f"{name.replace(' ', '_')}.toml"
    path.write_text(case_from_dict(table).to_toml())
    return path


def on_ranks(n_ranks: int, *words) -> list[str]:
    """A command line of python on some ranks."""
    launcher = [find_launcher(), "-n", str(n_ranks)] if n_ranks > 1 else []
    return [*launcher, sys.executable, *map(str, words)]


def solver(n_ranks: int, *arguments) -> list[str]:
    """The command line of the solver on some ranks."""
    return on_ranks(n_ranks, "-m", "muphy_lb", *arguments)


@cache
def settings() -> Mapping[str, str]:
    """Environment of a run; several runs share the cores, so that no rank may take more than one."""
    free = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    free |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | launcher_settings(find_launcher()) | free


def continued(case: Path, out: Path, n_ranks: int):
    """The finished command that continues what is in a folder, or begins again where no checkpoint was written."""
    to_the_end = ("--set", f"run.steps={N_STEPS}")  # a run that met a full disk may not have stored how far it goes
    done = run_and_stop(solver(n_ranks, "resume", out, *to_the_end), settings(), RESUME_S)
    if done.returncode == NOTHING_TO_CONTINUE and not newest_step(out / "checkpoints"):
        done = run_and_stop(solver(n_ranks, "run", case, "-o", out), settings(), RESUME_S)
    return done


def undisturbed_runs(folder: Path, names: Sequence[str], compute: Mapping, jobs: int) -> dict[str, tuple[Path, Path]]:
    """(case file, output folder) of the undisturbed run of each case, by name; some at a time, each by one rank."""

    def run_alone(name: str) -> tuple[Path, Path]:
        case = write_case(folder, name, compute)
        out = folder / f"undisturbed_{case.stem}"
        done = run_and_stop(solver(1, "run", case, "-o", out), settings(), 2 * RESUME_S)
        if done.returncode not in ENDED:
            raise RuntimeError(f"the undisturbed run of {case} failed: {done.stderr}")
        return case, out

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(names, pool.map(run_alone, names), strict=True))


def newest_step(folder: Path) -> int:
    """Step of the newest file that has the name of a checkpoint; 0 without one."""
    return max((int(path.stem[len("step_") :]) for path in folder.glob(PATTERN)), default=0)


def all_valid(folder: Path) -> bool:
    """Whether each of the checkpoints could be continued from: ``newest`` is asked one by one."""
    for path in sorted(folder.glob(PATTERN)):
        with tempfile.TemporaryDirectory(dir=folder.parent) as alone:
            os.link(path, Path(alone, path.name))
            try:
                newest(Path(alone))
            except InputError:
                return False
    return True


def populations(folder: Path) -> np.ndarray:
    """(Q, n) populations of the newest checkpoint."""
    with h5py.File(newest(folder / "checkpoints").path) as file:
        return file["populations"][...]


def differences(out: Path, undisturbed: Path, stopped_at: int | None = None) -> str:
    """Which files of a continued run are not those of the undisturbed one; a run that was stopped also has a snapshot
    of the step at which it was."""
    found = []
    if not np.array_equal(populations(out), populations(undisturbed)):
        found.append("populations")
    for path in sorted(undisturbed.glob("*.csv")):
        if not (out / path.name).exists() or (out / path.name).read_bytes() != path.read_bytes():
            found.append(path.name)
    for path in sorted(undisturbed.glob("*.vtkhdf")):
        if not (out / path.name).exists() or not _same_snapshots(out / path.name, path, stopped_at):
            found.append(path.name)
    if told(out) != told(undisturbed):
        found.append("summary.json")
    return ", ".join([*found, *(name for name in ("report.html",) if not (out / name).exists())])


def told(folder: Path) -> dict:
    """What the summary of a run tells of its flow, and not of how long it took or of what it ran on."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text()) if path.exists() else {}
    return {name: summary[name] for name in OF_FLOW if name in summary}


def _same_snapshots(path: Path, undisturbed: Path, stopped_at: int | None) -> bool:
    """Whether two field files hold the same, but for a snapshot that is there because the run was stopped."""
    expected = _snapshots(undisturbed)
    found = _snapshots(path)
    if stopped_at not in expected:
        found.pop(stopped_at, None)
    return found == expected


def _snapshots(path: Path) -> dict:
    """Time and fields of each snapshot of a field file by its step, and the mesh by the names of its arrays."""
    with h5py.File(path) as file:
        steps, grid = file["muphy_lb/step"][...].tolist(), file["VTKHDF"]
        if "Vertices" in grid:
            return dict(zip(steps, _places(grid), strict=True))
        columns = [rows[...].reshape(len(steps), -1) for rows in (grid["Steps/Values"], *grid["CellData"].values())]
        snapshots = {step: [column[k].tobytes() for column in columns] for k, step in enumerate(steps)}
        return snapshots | {name: grid[name][...].tobytes() for name in ("Points", "Connectivity", "Offsets", "Types")}


def _places(grid) -> Iterator[tuple[bytes, ...]]:
    """Time, points and their data of each snapshot of poly data."""
    first = grid["Steps/PointOffsets"][...].tolist()
    columns = [grid["Points"], *grid["PointData"].values()]
    for time, low, high in zip(grid["Steps/Values"], first, [*first[1:], len(grid["Points"])], strict=True):
        yield (time.tobytes(), *(column[low:high].tobytes() for column in columns))


def arrays(path: Path) -> dict[str, bytes]:
    """All numbers of an HDF5 file by name."""
    found = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf":
            found[name] = item[...].tobytes()

    with h5py.File(path) as file:
        file.visititems(keep)
    return found


def processes(mark: str) -> dict:
    """Process ids of all that a run's launcher started: of ranks by rank, of others by themselves."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid, text = int(folder.name), (folder / "environ").read_bytes().decode()
            environment = dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)
            if environment.get(MARK) == mark:
                ranks = [int(environment[name]) for name in RANK_NAMES if name in environment]
                is_solver = b"muphy_lb" in (folder / "cmdline").read_bytes()
                found[ranks[0] if ranks and is_solver else f"process {pid}"] = pid
    return found
