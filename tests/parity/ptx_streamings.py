"""Compiles stages of a free surface, and steps of a heated flow, for streaming by pull and in place to PTX without a
GPU, and prints a JSON list of what was found in each.

Run as ``python -m tests.parity.ptx_streamings`` in a process of its own.
"""

import json
import re
import sys
from collections import Counter

import numpy as np
from numba import typeof, types

from muphy_lb.backends.cuda import skeletons, stage_skeletons
from muphy_lb.backends.cuda.access import Populations
from muphy_lb.backends.cuda.stage_skeletons import Arriving
from muphy_lb.base.precision import FP64
from muphy_lb.lattice import D3Q19
from muphy_lb.model.model import ARRIVING, REFILL
from muphy_lb.physics.thermal.model import Heat
from tests.free_surface import SurfaceSetup
from tests.parity.ptx import CAPABILITY, pretend, ptx_of, refuse_without_compiler
from tests.parity.ptx_surface import CANDIDATES, CELLS, RANGE, TABLE, WORDS, composed, fluid_arguments
from tests.support import build_engine, random_nodes
from tests.thermal import BETWEEN, ThermalSetup, between_walls

BUFFER = types.Array(types.float64, 1, "C")
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.]*\.f(?:32|64))\s+(%\w+), (.*);", re.MULTILINE)
EXACT = ("ld", "st", "mov", "min", "max")  # compilers may repeat them: they round nothing


def kernels(streaming: str):
    """(stage, phase, kernel, types of its arguments) of the stages that load populations and compute with them, and
    of steps: of nodes with fluid, and of all nodes."""
    setup = SurfaceSetup(D3Q19, precision=FP64, streaming=streaming, force=(1e-4, -3e-4, 5e-5))
    engine = build_engine(random_nodes(D3Q19, openings=False), setup)
    patterns, model = engine.addresses.patterns, engine.model
    n_entries, how = max(len(pattern.directions) for pattern in patterns), (D3Q19, FP64)
    tables = (BUFFER, *TABLE, WORDS, CANDIDATES)
    for phase, pattern in enumerate(patterns):
        left, after = (Populations(engine.state(p).locations, n_entries, np.uint32) for p in (phase, 1 - phase))
        values = typeof(engine.parameters.values(model.collision, model.parameters, 0))
        for stage in model.stages:
            given = tuple(engine.parameters.values(each, stage.parameters, 0) for each in stage.operators)
            if ARRIVING in stage.writes:
                arriving = Arriving(Populations(pattern.load, n_entries, np.uint32), True)
                kernel, ahead = composed(stage, stage.operators, arriving, left, how)
                yield stage.name, phase, kernel, (*ahead, typeof(given[0]))
            if ARRIVING in stage.writes and not pattern.in_place:
                both, arriving = (*stage.operators, model.collision), arriving._replace(stores_at=pattern.store)
                kernel, ahead = composed(stage, both, arriving, left, (*how, values))
                yield "both", phase, kernel, (*ahead, typeof(given[0]))
            if stage.kernel == REFILL:
                kernel = stage_skeletons.refill(stage.operators, after, D3Q19.q - 1, *how)
                sources = types.Tuple((CELLS, types.uint8, types.int64))
                yield stage.name, phase, kernel, (*tables, sources, BUFFER, typeof(given))
        kernel = skeletons.stream_collide_fluid(model.collision, pattern, *how, np.uint32)
        yield "step", phase, kernel, fluid_arguments(BUFFER, values)
        kernel = skeletons.stream_collide(model.collision, pattern, *how, np.uint32)
        yield "plain step", phase, kernel, (BUFFER, BUFFER, *TABLE, types.int64, types.int64, *RANGE, values)


def heated_kernels(streaming: str):
    """The same of a heated flow: its step, its temperature, and both in one kernel."""
    setup = ThermalSetup(D3Q19, precision=FP64, streaming=streaming, heat=Heat(0.05, (0.0, 0.0, 1e-4), BETWEEN))
    engine = build_engine(between_walls((4, 4, 6)), setup)
    model, (stage,) = engine.model, engine.model.after
    how, values = (D3Q19, FP64, np.uint32), typeof(engine.parameters.values(model.collision, model.parameters, 0))
    heat = skeletons.Advance(stage.operators[0], D3Q19.q - 1, False)
    of_heat = typeof(engine.parameters.values(heat.operator, stage.parameters, 0))
    field = types.Tuple((BUFFER, BUFFER, *TABLE, types.uint32, of_heat))
    ahead = (BUFFER, BUFFER, *TABLE, types.int64, types.int64, *RANGE)
    nowhere = (BUFFER, BUFFER, *TABLE, *RANGE, types.uint32, CELLS, types.uint8, of_heat)
    for phase, pattern in enumerate(engine.addresses.patterns):
        yield "flow", phase, skeletons.stream_collide(model.collision, pattern, *how), (*ahead, values)
        both = skeletons.stream_collide(model.collision, pattern, *how, behind=heat)
        yield "heated", phase, both, (*ahead, types.Tuple((values, field)))
    yield "temperature", 0, skeletons.advance(heat, False, *how), nowhere


def free_products(ptx: str) -> int:
    """How often a product goes into a sum in such a way that the assembler may round both together."""
    found = INSTRUCTION.findall(ptx)
    products = {target for name, target, _ in found if re.fullmatch(r"mul\.f(32|64)", name)}
    sums = (terms.split(", ") for name, _, terms in found if re.fullmatch(r"(add|sub)\.f(32|64)", name))
    return sum(term in products for terms in sums for term in terms)


def main() -> None:
    """Print the findings."""
    refuse_without_compiler()
    pretend(CAPABILITY)
    findings = []
    for streaming in ("pull", "aa"):
        for stage, phase, kernel, arguments in (*kernels(streaming), *heated_kernels(streaming)):
            ptx = ptx_of(kernel, arguments)
            names = Counter(name for name, _, _ in INSTRUCTION.findall(ptx) if name.split(".")[0] not in EXACT)
            which = {"stage": stage, "streaming": streaming, "phase": phase}
            findings.append(which | {"instructions": names, "free_products": free_products(ptx)})
    print(json.dumps(findings))


if __name__ == "__main__":
    sys.exit(main())
