"""Compiles the large kernels to machine code without a GPU, and prints a JSON list of the size of each.

Run as ``python -m tests.parity.machine_code`` in a process of its own, in which no device can be used any more.
"""

import json
import struct
import sys

from numba import typeof

from muphy_lb.backends.cuda.device import stand_in_for_device
from muphy_lb.base.precision import FP32
from muphy_lb.lattice import D3Q19
from muphy_lb.model.model import ARRIVING, NODES
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, NO_TENSION, PARABOLOID, TENSION
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.run.solver import Solver
from tests.free_surface import SurfaceSetup
from tests.laws.smallest import smallest
from tests.parity.ptx import CAPABILITY, refuse_without_compiler
from tests.parity.ptx_surface import composed, surface_arguments
from tests.support import build_engine, random_nodes

SECTION = struct.Struct("<IIQQQQIIQQ")  # of an ELF file: name, type, flags, address, offset, size, ...
BYTES_OF_INSTRUCTION = 16
SIZED, OF_REGISTERS = 0x04, 0x2F  # an attribute with a size; that of the number of registers
TENSE = {NO_TENSION: {}, PARABOLOID: {TENSION: 0.01}, CONTACT_ANGLE: {TENSION: 0.01, COS_ANGLE: 0.5}}


def sections(binary: bytes) -> dict[str, bytes]:
    """Contents of the sections of an ELF file by name."""
    (table,), (size, count, of_names) = struct.unpack_from("<Q", binary, 40), struct.unpack_from("<HHH", binary, 58)
    rows = [SECTION.unpack_from(binary, table + k * size) for k in range(count)]
    names = binary[rows[of_names][4] :]
    return {names[row[0] : names.index(b"\0", row[0])].decode(): binary[row[4] : row[4] + row[5]] for row in rows}


def registers(attributes: bytes) -> int:
    """The number of registers of a thread among the attributes of all kernels of a file, of which there is one."""
    found, place = 0, 0
    while place < len(attributes):
        form, attribute, size = struct.unpack_from("<BBH", attributes, place)
        if (form, attribute) == (SIZED, OF_REGISTERS):
            found = max(found, struct.unpack_from("<I", attributes, place + 8)[0])
        place += 4 + (size if form == SIZED else 0)
    return found


def finding(name: str, kernel, arguments: tuple) -> dict:
    """Instructions and registers of a kernel for types of its arguments."""
    parts = sections(bytes(kernel.compile(arguments).library.get_cubin().code))
    (code,) = (content for part, content in parts.items() if part.startswith(".text."))
    n_registers = registers(parts[".nv.info"])
    return {"name": name, "instructions": len(code) // BYTES_OF_INSTRUCTION, "registers": n_registers}


def of_surface(capillarity):
    """The exchange, and the completion with the collision behind it, of a dam with or without surface tension."""
    force = (0.0, 0.0, -1e-5)
    tension = {"capillarity": capillarity, "of_capillarity": TENSE[capillarity]}
    setup = SurfaceSetup(D3Q19, precision=FP32, force=force, **tension)
    engine = build_engine(random_nodes(D3Q19, openings=False), setup)
    for stage in engine.model.between:
        kernel, arguments = surface_arguments(engine, stage, stage is engine.model.between[-1])
        yield finding(f"{stage.name}, {capillarity.name}", kernel, arguments)


def of_two_fluids():
    """The stages of two fluids, in space."""
    in_space = {"lattice": {"name": D3Q19.name}, "geometry": {"options": {"width": 4}}}
    engine = Solver(smallest("two_fluid", compute={"precision": FP32.name}, **in_space)).engine
    for stage in engine.model.stages:
        if stage.over == NODES and engine.model.kernel_of(stage) == "at_nodes" and ARRIVING not in stage.reads:
            kernel, ahead = composed(stage, stage.operators, None, None, (engine.model.lattice, FP32))
            values = engine.parameters.values(stage.operators[0], stage.parameters, 0)
            yield finding(f"{stage.name}, two fluids", kernel, (*ahead, typeof(values)))


def main() -> None:
    """Print the findings of all kernels; end with CANNOT_RUN where there is no compiler."""
    refuse_without_compiler()
    stand_in_for_device(CAPABILITY)
    found = [each for capillarity in TENSE for each in of_surface(capillarity)]
    print(json.dumps([*found, *of_two_fluids()]))


if __name__ == "__main__":
    sys.exit(main())
