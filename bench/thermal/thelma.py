"""Comparison with the performance model of TheLMA: a heated cubic cavity, and the same box without temperature.

Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): D3Q19 MRT with a temperature by finite differences,
single precision. Their model (Table 4) counts 48 numbers read or written per node and time step, 19 + 19 populations
and 10 for the temperature; updates times 48 numbers were 65 to 88 % of the copy bandwidth of the same GPU. The
project's page (thelma-project.info, "About") gives the fastest runs on eight
Tesla C1060 in single precision, of any geometry: 1920 MLUPS with temperature, 2744 without.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.precision import PRECISIONS
from muphy_lb.bench.command import overrides_of, threads_of, variants
from muphy_lb.bench.jobs import Job, job_of_table
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import Rows, Study
from muphy_lb.bench.stream import ComputeVariant, Effort, Measurement, known, measure_blocks
from muphy_lb.lattice import lattice_named

TITLE, EDGES, LATTICE, NUMBERS = "thelma", published.OBRECHT_EDGES, "D3Q19", 48
FASTEST_THERMAL, FASTEST_ISOTHERMAL = 1920, 2744
PUBLISHED_SHARE = dict(zip(EDGES, published.OBRECHT_4.rows["C1060: % of the copy bandwidth"], strict=True))
# Lattice units: slow and diffusive enough to be stable on every box.
FALL_SPEED, DIFFUSIVITY, PRANDTL = 0.02, 0.05, 0.71
HEAD = (
    f"Obrecht et al. 2012, Table 4: {NUMBERS} numbers per node and step\n"
    f"thelma-project.info, eight C1060: {FASTEST_THERMAL} MLUPS with temperature, {FASTEST_ISOTHERMAL} without,"
    f" at most: ratio {FASTEST_THERMAL / FASTEST_ISOTHERMAL:.3f}"
)
HEADER = (
    f"{'edge':>4} {'precision':<9} {'streaming':<9} {'order':<13} {'MFLUPS':>8} {'isothermal':>10} {'ratio':>6}"
    f" {'model GB/s':>10} {'copy':>7} {'share':>6} {'published':>9} | {'numbers':>7} {'B/update':>8} {'GB/s':>7}"
    f" {'share':>6} {'registers':>9} {'local B':>7}"
)
LEGEND = (
    f"model GB/s: updates times {NUMBERS} numbers, the paper's count; copy: of a large copy, measured beside it\n"
    "right of the bar our own count: numbers that a node update must read or write (with the neighbours' temperatures,"
    " which caches hold),\nB/update: bytes of the former with address tables and ghosts"
)


@dataclass(frozen=True)
class CavityTiming:
    """A cavity timed with and without temperature."""

    edge: int  # nodes per edge
    heated: Measurement  # heated, isothermal: the measurements
    isothermal: Measurement

    @property
    def ratio(self) -> float:
        """Updates per second with temperature over those without."""
        return self.heated.mflups / self.isothermal.mflups

    @property
    def model_bytes(self) -> int:
        """Bytes per update of the paper's count: populations in storage format, other numbers in arithmetic format."""
        precision, populations = PRECISIONS[self.heated.precision], 2 * lattice_named(LATTICE).q
        storage, real = (np.dtype(kind).itemsize for kind in (precision.storage, precision.real))
        return populations * storage + (NUMBERS - populations) * real

    @property
    def model_gb_s(self) -> float:
        """Bandwidth of a rank [GB/s] by the paper's model."""
        return 1e-3 * self.heated.mflups * self.model_bytes / self.heated.ranks

    @property
    def model_share(self) -> float:
        """``model_gb_s`` as a fraction of the copy bandwidth."""
        return self.model_gb_s / (1e3 * self.heated.copy_tb_s)

    def record(self) -> dict:
        """The timing as a plain dictionary."""
        return {
            "title": f"heated cavity, {self.edge}^3",
            "published_share": PUBLISHED_SHARE.get(self.edge),
            "published_ratio": FASTEST_THERMAL / FASTEST_ISOTHERMAL,
            "device": self.heated.device,
            "edge": self.edge,
            "ratio": self.ratio,
            "model_numbers": NUMBERS,
            "model_bytes": self.model_bytes,
            "model_gb_s": self.model_gb_s,
            "model_share": self.model_share,
            "heated": self.heated.record(),
            "isothermal": self.isothermal.record(),
        }


def cavity_table(edge: int) -> dict:
    """The case of a cubic cavity between a cold and a hot wall as nested tables, in lattice units."""
    return {
        "title": f"heated cavity, {edge}^3",
        "geometry": {"shape": "heated_cavity", "spacing_m": 1.0, "options": {"size": edge}},
        "walls": [{"name": "cold", "temperature_k": -0.5}, {"name": "hot", "temperature_k": 0.5}],
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": PRANDTL * DIFFUSIVITY},
        "thermal": {
            "reference_k": 0.0,
            "diffusivity_m2_s": DIFFUSIVITY,
            "gravity_m_s2": [0.0, 0.0, -1.0],
            "expansion_1_k": FALL_SPEED**2 / edge,
        },
        "lattice": {"name": LATTICE, "collision": "mrt", "time_step_s": 1.0},
        "compute": {"precision": "fp32", "streaming": "pull"},
        "run": {"steps": 1, "ramp_steps": 0},
    }


def without_temperature(job: Job) -> Job:
    """The same box and collision with neither temperature nor buoyancy."""
    return Job(job.case.model_copy(update={"thermal": None, "walls": ()}), job.nodes)


def text(comparison: CavityTiming) -> str:
    """Row below HEADER."""
    c, m = comparison, comparison.heated
    numbers, share = f"{m.numbers_per_update} ({m.numbers_asked})", known(PUBLISHED_SHARE.get(c.edge), ".1f")
    return (
        f"{c.edge:>4} {m.precision:<9} {m.streaming:<9} {m.order:<13} {m.mflups:>8.5g} {c.isothermal.mflups:>10.5g}"
        f" {c.ratio:>6.3f} {c.model_gb_s:>10.4g} {1e3 * m.copy_tb_s:>7.4g} {c.model_share:>6.1%} {share:>9} |"
        f" {numbers:>7} {m.bytes_per_update:>8.1f} {1e3 * m.moved_tb_s:>7.4g} {m.fraction:>6.1%}"
        f" {known(m.registers):>9} {known(m.local_bytes):>7}"
    )


def time_thelma(options, say: Callable[[str], None], communicator) -> Study:
    """Heated cavities of the paper's edges, or of one, in all variants; collective."""
    effort, threads = Effort(options.steps, options.runs), threads_of(options)
    timings: list[CavityTiming] = []
    say(f"{HEAD}\n{HEADER}")
    for edge in (options.size,) if options.size else EDGES:
        job = job_of_table(cavity_table(edge), overrides_of(options), communicator)
        for choice in variants(options, job.case.compute):
            isothermal, heated = (
                measure_blocks(each.case, each.nodes, ComputeVariant(*choice), effort, communicator, threads)
                for each in (without_temperature(job), job)
            )
            found = [CavityTiming(edge, *pair) for pair in zip(heated, isothermal, strict=True)]
            say("\n".join(map(text, found)))
            timings += found
    say(LEGEND)
    tables = {published.OBRECHT_4: rows(timings)}
    return Study(TITLE, timings[0].heated.device, [timing.record() for timing in timings], tables)


def rows(timings: list[CavityTiming]) -> Rows:
    """The first variant of every edge beside Table 4."""
    by_edge = {timing.edge: timing for timing in reversed(timings)}
    found = [by_edge.get(edge) for edge in published.OBRECHT_EDGES]
    return {
        "MLUPS": tuple(timing.heated.mflups if timing else None for timing in found),
        "GB/s": tuple(timing.model_gb_s if timing else None for timing in found),
        "% of the copy bandwidth": tuple(100 * timing.model_share if timing else None for timing in found),
        "speed over that of the isothermal flow": tuple(timing.ratio if timing else None for timing in found),
    }
