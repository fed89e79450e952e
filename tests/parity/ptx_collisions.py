"""Compiles a sample of collisions in single precision to PTX without a GPU, and prints a JSON list of findings.

Run as ``python -m tests.parity.ptx_collisions`` in a process of its own. Every lattice, relaxation, equilibrium and
closure is in the sample, one collision with noise, and one with the drag of a porous medium.
"""

import json

import numpy as np
from numba import from_dtype, types

from muphy_lb.backends.cuda import skeletons
from muphy_lb.base.precision import FP32
from muphy_lb.domain import PULL
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27
from muphy_lb.operators import (
    BGK,
    CARREAU_YASUDA,
    CASSON,
    COMPRESSIBLE,
    CUMULANT,
    INCOMPRESSIBLE,
    MOMENTUM_FIELDS,
    POWER_LAW,
    RECURSIVE_REGULARISED,
    RECURSIVE_REGULARISED_NEAR_WALLS,
    REGULARISED,
    SMAGORINSKY,
    STOKES,
    TRT,
    collision,
    mrt_for,
)
from muphy_lb.operators.darcy import RATES
from muphy_lb.physics.fluctuating.operators import SEED, STEP, VOXEL
from tests.fluctuating import FluctuatingSetup
from tests.laws.collisions import Case
from tests.parity.ptx import compiled, counts, ptx_of, refuse_without_compiler
from tests.parity.ptx_streamings import free_products
from tests.parity.ptx_surface import fluid_arguments


def sample() -> list[Case]:
    """The collisions to compile."""
    return [
        Case(D2Q9, *mrt_for(D2Q9), COMPRESSIBLE, CASSON),
        Case(D3Q15, TRT, (0.25,), STOKES, POWER_LAW),
        Case(D3Q19, *mrt_for(D3Q19)),
        Case(D3Q19, BGK, (), INCOMPRESSIBLE, SMAGORINSKY),
        Case(D3Q27, REGULARISED, (), COMPRESSIBLE, CARREAU_YASUDA),
        Case(D3Q19, RECURSIVE_REGULARISED),
        Case(D3Q19, RECURSIVE_REGULARISED_NEAR_WALLS),
        Case(D2Q9, CUMULANT),
        Case(D3Q27, CUMULANT),
    ]


def findings(case: Case) -> dict:
    """What the PTX of the pull kernel of a collision holds. A node loads its populations and their bases."""
    pattern = PULL.patterns(case.lattice)[0]
    found = counts(compiled(case.operator, len(case.parameters), pattern, case.lattice, FP32))
    return found | {
        "name": str(case),
        "surplus_loads": found["loads"] - (2 * case.lattice.q - 1),
        "surplus_stores": found["stores"] - case.lattice.q,
    }


def noisy() -> dict:
    """The same of a collision with noise; a node also loads its voxel id and the number of the step."""
    lattice, operator = D3Q19, FluctuatingSetup(D3Q19, rates=(1.7, 0.1), relaxation=TRT).model().collision
    numbers = {SEED: types.int64, STEP: types.Array(types.int64, 1, "C"), VOXEL: types.Array(types.int64, 1, "C")}
    real = from_dtype(np.dtype(FP32.real))
    kinds = tuple(numbers.get(parameter.name, real) for parameter in operator.parameters)
    found = counts(compiled(operator, len(kinds), PULL.patterns(lattice)[0], lattice, FP32, parameters=kinds))
    surplus = {"surplus_loads": found["loads"] - (2 * lattice.q + 1), "surplus_stores": found["stores"] - lattice.q}
    return found | surplus | {"name": operator.name}


def dragged() -> dict:
    """The same of a collision with the drag of a porous medium; a node also loads its three rates, and stores its
    momentum."""
    lattice, operator = D3Q19, collision(RECURSIVE_REGULARISED, has_drag=True)
    real = from_dtype(np.dtype(FP32.real))
    fields = (*RATES, *MOMENTUM_FIELDS)
    kinds = tuple(types.Array(real, 1, "C") if each.name in fields else real for each in operator.parameters)
    found = counts(compiled(operator, len(kinds), PULL.patterns(lattice)[0], lattice, FP32, parameters=kinds))
    surplus = {"surplus_loads": found["loads"] - (2 * lattice.q + 2), "surplus_stores": found["stores"] - lattice.q - 3}
    return found | surplus | {"name": operator.name}


STRICT = [
    Case(D2Q9, *mrt_for(D2Q9), COMPRESSIBLE, CASSON),
    Case(D3Q19, BGK, (), INCOMPRESSIBLE, SMAGORINSKY),
    Case(D3Q19, RECURSIVE_REGULARISED_NEAR_WALLS),
    Case(D2Q9, CUMULANT),
]
"""Collisions without functions of the compiler's library."""


def strict(case: Case) -> dict:
    """How many products the collision of nodes with fluid leaves to be rounded together with sums, and rounds so."""
    pattern = PULL.patterns(case.lattice)[0]
    kernel = skeletons.stream_collide_fluid(case.operator, pattern, case.lattice, FP32, np.uint32)
    buffer, parameters = types.Array(types.float32, 1, "C"), types.Tuple((types.float32,) * len(case.parameters))
    ptx = ptx_of(kernel, fluid_arguments(buffer, parameters))
    return {"name": str(case), "free_products": free_products(ptx), "fused": ptx.count("fma.rn")}


def main():
    """Print the findings of every kernel; end with CANNOT_RUN where there is no compiler."""
    refuse_without_compiler()
    print(json.dumps({"all": [*map(findings, sample()), noisy(), dragged()], "strict": [*map(strict, STRICT)]}))


if __name__ == "__main__":
    main()
