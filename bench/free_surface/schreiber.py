"""Comparison with the free surface of Schreiber et al. on a GPU: cavity, breaking dam, kernels, a scene in real time.

M. Schreiber, P. Neumann, S. Zimmer, H.-J. Bungartz, Procedia Comput. Sci. 4, 984 (2011): D3Q19 BGK in single precision.
Their A-B pattern is pull, in which neighbours are read and own rows written (their version 1), A-A is in-place
streaming. Updates count all cells of a box, with gas or without.
"""

from collections.abc import Callable
from math import prod

from muphy_lb.backends import make_backend, resolve_backend
from muphy_lb.base.precision import FP32
from muphy_lb.base.units import CS2, viscosity
from muphy_lb.bench import stream
from muphy_lb.bench.command import overrides_of, threads_of
from muphy_lb.bench.jobs import job_of_table
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import PaperTable, Rows, Study
from muphy_lb.lattice import lattice_named
from muphy_lb.run.solver import Solver
from muphy_lb.run.trace import stage_seconds

TITLE, LATTICE, RELAXATION_TIME, LID_VELOCITY = "schreiber", "D3Q19", 0.8, 0.05
PATTERNS = {"A-B": "pull", "A-A": "aa"}
SCENE, TRACED_STEPS, ORDER = (64, 64, 32), 100, "lexicographic"
# Lattice units: a speed of fall through the box that is slow enough for every box.
FALL_SPEED, LIQUID = 0.05, (0.5, 2.0 / 3.0)  # liquid: shares of the length and of the height, a third of the box


def time_schreiber(options, say: Callable[[str], None], communicator) -> Study:
    """Cavity and dam in cubes of several edges, or of one, in blocks of several sizes on a GPU; the kernels of a step;
    the scene in real time; collective."""
    backend = make_backend(resolve_backend(options.backend or "auto"), lattice_named(LATTICE), FP32)
    threads = threads_of(options, (None,) if backend.on_host else published.SCHREIBER_THREADS)
    edges = (options.size,) if options.size else published.SCHREIBER_EDGES
    run = _Timing(options, say, communicator)
    cavities = {f"{edge}^3": run.by_threads(cavity_table(edge), "aa", threads) for edge in edges}
    dams = {
        f"{edge}^3, {pattern}": run.by_threads(dam_table((edge,) * 3), streaming, threads)
        for edge in edges
        for pattern, streaming in PATTERNS.items()
    }
    scene = run.fastest(dam_table(SCENE), "pull")
    largest = (edges[-1],) * 3
    plain, surface = run.fastest(cavity_table(edges[-1]), "pull"), run.fastest(dam_table(largest), "pull")
    say(stream.LEGEND)
    tables: dict[PaperTable, Rows] = {
        published.SCHREIBER_7: run.kernels(dam_table(largest)),
        published.SCHREIBER_SCENE: {"": (1e6 * scene.mflups / prod(SCENE), scene.mflups, None)},
        published.SCHREIBER_SHARE: {"": (100 * surface.mflups / plain.mflups,)},
    }
    if threads != (None,):
        tables = {published.SCHREIBER_5: cavities, published.SCHREIBER_6: dams} | tables
    return Study(TITLE, backend.device, [found.record() for found in run.measurements], tables)


class _Timing:
    """Times cases given as tables, and keeps what it measured."""

    def __init__(self, options, say: Callable[[str], None], communicator):
        self._options, self._say, self._communicator = options, say, communicator
        self._effort = stream.Effort(options.steps, options.runs)
        self.measurements: list[stream.Measurement] = []

    def by_threads(self, table: dict, streaming: str, threads: stream.Threads) -> tuple[float | None, ...]:
        """Million updates per second in blocks of the paper's sizes; None for one that is not asked for."""
        found = dict(zip(threads, self._measure(table, streaming, threads), strict=True))
        return tuple(found[each].mflups if each in found else None for each in published.SCHREIBER_THREADS)

    def fastest(self, table: dict, streaming: str) -> stream.Measurement:
        """The measurement with the device's own choice of a block."""
        return self._measure(table, streaming, (None,))[0]

    def kernels(self, table: dict) -> dict[str, tuple[float | None, ...]]:
        """Share of a step that each stage takes [%], by pattern."""
        shares = {}
        for pattern, streaming in PATTERNS.items():
            case = self._job(table).case
            case = case.model_copy(update={"compute": case.compute.model_copy(update={"streaming": streaming})})
            seconds = stage_seconds(Solver(case, self._communicator), TRACED_STEPS)
            shares[pattern] = {stage: 100 * taken / sum(seconds.values()) for stage, taken in seconds.items()}
        stages = dict.fromkeys(stage for by_stage in shares.values() for stage in by_stage)
        return {stage: tuple(shares[pattern].get(stage) for pattern in PATTERNS) for stage in stages}

    def _job(self, table: dict):
        return job_of_table(table, overrides_of(self._options), self._communicator)

    def _measure(self, table: dict, streaming: str, threads: stream.Threads) -> list[stream.Measurement]:
        job = self._job(table)
        variant = stream.ComputeVariant(self._options.precision or "fp32", streaming, self._options.order or ORDER)
        found = stream.measure_blocks(job.case, job.nodes, variant, self._effort, self._communicator, threads)
        self._say("\n".join([stream.head(job.case.title, found[0]), *map(stream.row, found)]))
        self.measurements += found
        return found


def cavity_table(edge: int) -> dict:
    """The case of a cubic driven cavity as nested tables, in lattice units."""
    lid = {"name": "lid", "velocity_m_s": [LID_VELOCITY, 0.0, 0.0]}
    geometry = {"shape": "cavity", "options": {"size": edge, "dimension": 3}}
    return _table(f"driven cavity, {edge}^3", geometry) | {"walls": [lid]}


def dam_table(box: tuple[int, int, int]) -> dict:
    """The case of a breaking dam as nested tables, in lattice units. ``box``: (length, height, width) of the tank, of
    which a third is liquid."""
    length, height, width = box
    geometry = {"shape": "tank", "options": {"length": length, "height": height, "width": width}}
    corner = [LIQUID[0] * length - 0.5, LIQUID[1] * height - 0.5, width + 1.0]
    title = f"breaking dam, {' x '.join(map(str, box))}"
    return _table(title, geometry) | {
        "flow": {"acceleration_m_s2": [0.0, -(FALL_SPEED**2) / (2 * height), 0.0]},
        "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], corner]}]},
    }


def _table(title: str, geometry: dict) -> dict:
    return {
        "title": title,
        "geometry": geometry | {"spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity(RELAXATION_TIME, CS2)},
        "lattice": {"name": LATTICE, "time_step_s": 1.0},
        "run": {"steps": 1, "ramp_steps": 0},
    }
