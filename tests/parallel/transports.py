"""What every transport computes, on the GPUs at hand: run under mpirun; rank 0 prints one JSON record a line."""

import gc
import json
import sys

import numpy as np

from muphy_lb.case import case_from_dict
from muphy_lb.errors import BackendError
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.parallel.communicator import MpiCommunicator
from muphy_lb.simulation import Simulation
from tests.parallel.driver import PERIODIC_ROCK
from tests.vessel import changed

KINDS = (("pull", "fp32"), ("aa", "fp32"), ("push", "fp32"), ("pull", "fp16"), ("aa", "fp16"), ("pull", "fp64"))
PARTITIONS = ("metis", "curve", "XY")
# Odd, so that what is measured in between lies in the second buffer; together more than one recorded cycle.
STRETCHES = (7, 24, 38)
FINE = {"spacing_m": 2.5e-4}


HEAT = {"reference_k": 300.0, "prandtl": 0.7, "expansion_1_k": 1e-3, "method": "double-distribution"}


def flows():
    """Name and tables of what is computed."""
    yield "vessel", {"geometry": changed()["geometry"] | FINE, "lattice": {"lattice_velocity": 0.02}}
    yield (
        "rock",
        PERIODIC_ROCK
        | {"geometry": PERIODIC_ROCK["geometry"] | {"options": {"size": 48, "radius": 9.0, "porosity": 0.5}}},
    )

    # Cut across two axes, parts meet through diagonals alone, of which this temperature knows nothing.
    warm = [opening | {"temperature_k": 300.0 + 5.0 * k} for k, opening in enumerate(changed()["openings"])]
    tables = {"geometry": changed()["geometry"] | FINE, "lattice": {"lattice_velocity": 0.02}}
    yield "warm vessel", tables | {"openings": warm, "thermal": HEAT}


def compute(tables, transport, partition, kind, communicator) -> tuple[np.ndarray | None, str]:
    """(Q, n) populations in node-list order on rank 0, and the transport that was used."""
    streaming, precision = kind
    compute = {"backend": "cuda", "streaming": streaming, "precision": precision}
    compute |= {"transport": transport, "partition": partition}
    simulation = Simulation(case_from_dict(changed(compute=compute, **tables)), communicator)
    for n_steps in STRETCHES:
        simulation.step(n_steps)
        simulation.health()
        simulation.openings()
    rows = list(simulation.populations())
    return (None if rows[0] is None else np.stack(rows)), simulation.engine.transport


def main(transports, kinds):
    """Every flow by every transport, streaming and precision, against one rank."""
    from mpi4py import MPI

    communicator = MpiCommunicator(MPI)
    for flow, tables in flows():
        for kind in kinds:
            alone = compute(tables, "auto", "metis", kind, SerialCommunicator())[0] if communicator.rank == 0 else None
            for transport in transports:
                for partition in PARTITIONS:
                    record = {"flow": flow, "kind": kind, "transport": transport, "partition": partition}
                    try:
                        found, used = compute(tables, transport, partition, kind, communicator)
                    except BackendError as error:
                        record |= {"refused": str(error)}
                    else:
                        record |= {"used": used}
                        if communicator.rank == 0:
                            equal = bool(np.array_equal(found, alone))
                            record |= {"equal": equal, "largest": float(np.abs(alone).max())}
                    gc.collect()
                    communicator.barrier()
                    if communicator.rank == 0:
                        print(json.dumps(record | {"ranks": communicator.size}), flush=True)


if __name__ == "__main__":
    names = sys.argv[1].split(",")
    main(names, [KINDS[int(k)] for k in sys.argv[2]] if len(sys.argv) > 2 else KINDS)
