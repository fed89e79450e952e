"""The CUDA backend: device memory, two streams (interior, and edge with higher
priority), kernels bound to their launch configuration."""

import weakref
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.cuda import skeletons
from muphy_lb.backends.cuda.device import (
    SIMULATOR,
    clear,
    cuda,
    event,
    memory_free,
    record_graph,
    select_device,
    urgent_stream,
)
from muphy_lb.backends.cuda.skeletons import DOUBLE, NODES_PER_THREAD, PAIRED, SINGLE, Shape
from muphy_lb.backends.interface import (
    KernelUsage,
    LinkArrays,
    NodeRange,
    ReductionArrays,
    State,
    StreamArrays,
    WallArrays,
)
from muphy_lb.errors import BackendError

BLOCK = 256
WORKERS = 256 if SIMULATOR else 1 << 15


class DeviceTable(NamedTuple):
    """A run table on the device."""

    lines: object
    bases: object
    n_entries: int

    @property
    def index_type(self):
        """Type of an address."""
        return self.bases.dtype.type


class CudaBackend:
    """See :class:`muphy_lb.backends.interface.Backend`.

    Raises:
        BackendError: no usable GPU, or not enough device memory.
    """

    name = "cuda"
    on_host = False

    def __init__(self, lattice, precision, device_index=0):
        self.device = select_device(device_index)
        self.lattice = lattice
        self.precision = precision
        self.allocated_bytes = 0
        self._interior = cuda.stream()
        self._edge = urgent_stream()
        self._marked = event()
        self._edge_done = event()

    def array(self, host):
        """Flat device copy."""
        flat = np.ascontiguousarray(host).reshape(-1)
        device = self._allocate(flat.size, flat.dtype)
        if flat.size:
            device.copy_to_device(flat)
            cuda.synchronize()
        return device

    def zeros(self, size, dtype):
        """Flat device array of zeros."""
        device = self._allocate(size, np.dtype(dtype))
        if size:
            clear(device)
            cuda.synchronize()
        return device

    def host_buffer(self, size, dtype):
        """Page-locked host array."""
        return cuda.pinned_array(size, dtype) if size else np.zeros(0, dtype)

    def to_host(self, array):
        """Host copy, after everything launched before."""
        self.synchronise()
        return array.copy_to_host()

    def update(self, array, host):
        """Overwrite a device array, ordered after everything launched before."""
        self.synchronise()
        array.copy_to_device(np.ascontiguousarray(host).reshape(-1))
        cuda.synchronize()  # a pageable copy may return early, and the edge stream waits for nobody by itself

    def synchronise(self):
        """Wait for both streams."""
        self._interior.synchronize()
        self._edge.synchronize()

    def mark_interior(self):
        """Record an event on the interior stream."""
        self._marked.record(self._interior)

    def edge_waits(self):
        """The edge stream waits for the recorded event."""
        self._marked.wait(self._edge)

    def interior_waits(self):
        """The interior stream waits for all that the edge stream has been given."""
        self._edge_done.record(self._edge)
        self._edge_done.wait(self._interior)

    def record(self, launches):
        """One CUDA graph, in which the edge stream forks from the interior's and joins it again; none in the
        simulator."""

        def work():
            self.mark_interior()
            self.edge_waits()
            for launch in launches:
                launch()
            self.interior_waits()

        return work if SIMULATOR else record_graph(self._interior, work)

    def reduction_workers(self, n_nodes):
        """Enough to fill the card, whatever the domain."""
        return WORKERS

    def stream_table(self, addresses, turn):
        """The run table."""
        runs = addresses.runs(turn)
        return DeviceTable(self.array(runs.lines), self.array(runs.bases), runs.n_directions)

    def launch_shapes(self, pattern):
        """Two nodes a thread keep more loads on their way, if there are registers for them: in half precision, and in
        place, where table addresses have to be kept anyway."""
        singles = [Shape(SINGLE, block) for block in (256, 128, 384)]
        doubles = [Shape(DOUBLE, block) for block in (64, 96, 128)]
        if self.precision.storage is np.float16 and pattern.streaming == "pull":
            return (*(Shape(PAIRED, block) for block in (128, 256)), *singles)
        wants_two = pattern.in_place and self.precision.real is np.float32
        return (*doubles, *singles) if wants_two else (*singles, *doubles)

    def bind_stream_collide(self, collide, arrays: StreamArrays, nodes: NodeRange, parameters, shape=None):
        """One thread for one or two nodes."""
        shape = shape or self.launch_shapes(arrays.pattern)[0]
        kernel = self._stream_kernel(collide, arrays, shape)
        n_threads = -(-(nodes.last - nodes.first) // NODES_PER_THREAD[shape.threads])
        n_blocks = -(-n_threads // shape.block)
        sweep = (n_blocks - 1, -1) if nodes.is_reversed else (0, 1)
        new = arrays.new.view(np.uint32) if shape.threads == PAIRED else arrays.new
        table, bounds = arrays.table, (np.uint32(nodes.first), np.uint32(nodes.last))
        arguments = (arrays.old, new, table.lines, table.bases, *sweep, *bounds, parameters)
        return self._bind(kernel, n_threads, arguments, on_edge=nodes.is_edge, block=shape.block)

    def stream_collide_usage(self, collide, arrays: StreamArrays, shape=None):
        """Registers and local memory per thread."""
        kernel = self._stream_kernel(collide, arrays, shape or self.launch_shapes(arrays.pattern)[0])
        if SIMULATOR or not kernel.overloads:
            return None
        registers, local = kernel.get_regs_per_thread(), kernel.get_local_mem_per_thread()
        return KernelUsage(max(registers.values()), max(local.values()))

    def _stream_kernel(self, collide, arrays: StreamArrays, shape: Shape):
        return skeletons.stream_collide(
            collide, arrays.pattern, self.lattice, self.precision, arrays.table.index_type, shape.threads
        )

    def bind_links(self, operators, state, buffer, target, links: LinkArrays, parameters):
        """One thread per node with openings."""
        kernel = skeletons.links(*operators, self.lattice, self.precision)
        return self._bind(kernel, links.node.size, (state, buffer, target, links, parameters), on_edge=True)

    def bind_walls(self, walls, buffer, target, links: WallArrays):
        """One thread per wall link, on the edge stream."""
        kernel = skeletons.walls(walls, self.lattice, self.precision)
        return self._bind(kernel, links.wall.size, (buffer, target, links), on_edge=True)

    def bind_moments(self, macroscopic, state: State, nodes: NodeRange, out, parameters):
        """One thread per node."""
        kernel = skeletons.moments(macroscopic, *self._reach(state), self.lattice, self.precision, _index_type(state))
        return self._bind(kernel, nodes.last - nodes.first, (*_bounded(state, nodes), out, parameters))

    def bind_reduction(self, macroscopic, state: State, result: ReductionArrays, parameters):
        """A fixed number of workers."""
        kernel = skeletons.reduction(macroscopic, *self._reach(state), self.lattice, self.precision, _index_type(state))
        arguments = (state.buffer, *state.table[:2], state.n_nodes, result, parameters)
        return self._bind(kernel, result.mass.size, arguments)

    def bind_read(self, state: State, nodes: NodeRange, out):
        """One thread per node."""
        kernel = skeletons.read(*self._reach(state), self.precision, _index_type(state))
        return self._bind(kernel, nodes.last - nodes.first, (*_bounded(state, nodes), out))

    def bind_write(self, state: State, nodes: NodeRange, rows):
        """One thread per node."""
        kernel = skeletons.write(*self._reach(state), self.precision, _index_type(state))
        return self._bind(kernel, nodes.last - nodes.first, (*_bounded(state, nodes), rows))

    def view(self, array, first, last):
        """A slice of a device array."""
        return array[first:last]

    def bind_copy(self, source, target):
        """Device-to-device copy."""
        return lambda: target.copy_to_device(source, stream=self._interior)

    def bind_pack(self, buffer, addresses, packed, host):
        """Gather and copy to the host buffer, on the edge stream."""
        contiguous = isinstance(addresses, slice)
        source = buffer[addresses] if contiguous else packed
        arguments = (buffer, addresses, packed)
        gather = None if contiguous else self._bind(skeletons.gather, host.size, arguments, on_edge=True)

        def pack():
            if gather:
                gather()
            source.copy_to_host(host, stream=self._edge)

        return pack

    def finish_pack(self):
        """Wait for the edge stream."""
        self._edge.synchronize()

    def bind_unpack(self, host, packed, buffer, addresses):
        """Copy to the device and scatter, on the edge stream."""
        contiguous = isinstance(addresses, slice)
        target = buffer[addresses] if contiguous else packed
        arguments = (packed, buffer, addresses)
        scatter = None if contiguous else self._bind(skeletons.scatter, host.size, arguments, on_edge=True)

        def unpack():
            target.copy_to_device(host, stream=self._edge)
            if scatter:
                scatter()

        return unpack

    def _reach(self, state: State):
        return state.places, state.table.n_entries

    def _bind(self, kernel, n_threads, arguments, on_edge=False, block=BLOCK):
        stream = self._edge if on_edge else self._interior
        launch = (max(1, -(-n_threads // block)), block, stream)
        if SIMULATOR:  # its kernels know only the latest of their configurations
            return lambda: kernel[launch](*arguments)
        configured = kernel[launch]
        return lambda: configured(*arguments)

    def _allocate(self, size, dtype):
        try:
            array = cuda.device_array(size, dtype)
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error):
                raise
            free, total = memory_free()
            raise BackendError(
                f"the GPU {self.device} has {free / 2**30:.1f} of {total / 2**30:.1f} GiB free, and"
                f" {size * np.dtype(dtype).itemsize / 2**30:.1f} GiB more are needed; use more ranks,"
                " compute.streaming = 'aa', a smaller compute.precision or a coarser spacing"
            ) from error
        n_bytes = size * np.dtype(dtype).itemsize
        self.allocated_bytes += n_bytes
        weakref.finalize(array, self._forget, n_bytes)
        return array

    def _forget(self, n_bytes):
        self.allocated_bytes -= n_bytes


def _index_type(state: State):
    return state.table.index_type


def _bounded(state: State, nodes: NodeRange) -> tuple:
    """What every kernel over a range of nodes begins with."""
    return (state.buffer, state.table.lines, state.table.bases, np.uint32(nodes.first), np.uint32(nodes.last))
