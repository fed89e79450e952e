"""The CUDA backend: device memory, two streams (interior, and edge with higher
priority), kernels bound to their launch configuration."""

import numpy as np

from muphy_lb.backends.cuda import skeletons
from muphy_lb.backends.cuda.device import (
    SIMULATOR,
    cuda,
    event,
    memory_free,
    record_graph,
    select_device,
    urgent_stream,
)
from muphy_lb.backends.interface import (
    KernelUsage,
    LinkArrays,
    NodeRange,
    Populations,
    ReductionArrays,
    StreamArrays,
    WallArrays,
)
from muphy_lb.errors import BackendError

# H200, fp32 pull, sphere pack: 128, 256, 384, 512 threads a block give 17 170, 17 320, 17 400, 17 370 MFLUPS.
BLOCK = 384
WORKERS = 256 if SIMULATOR else 1 << 15


class CudaBackend:
    """See :class:`muphy_lb.backends.interface.Backend`.

    Raises:
        BackendError: no usable GPU, or not enough device memory.
    """

    name = "cuda"
    on_host = False

    def __init__(self, lattice, real, device_index=0):
        self.device = select_device(device_index)
        self.lattice = lattice
        self.real = real
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
        return self.array(np.zeros(size, dtype))

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

    def bind_stream_collide(self, collide, streaming, arrays: StreamArrays, nodes: NodeRange, parameters):
        """One thread per node."""
        kernel = skeletons.stream_collide(collide, streaming, self.lattice, self.real)
        bounds = (np.uint64(arrays.pitch), np.uint64(nodes.first), np.uint64(nodes.last))
        arguments = (arrays.old, arrays.new, arrays.table, *bounds, parameters)
        return self._bind(kernel, nodes.last - nodes.first, arguments, on_edge=nodes.is_edge)

    def stream_collide_usage(self, collide, streaming):
        """Registers and local memory per thread."""
        kernel = skeletons.stream_collide(collide, streaming, self.lattice, self.real)
        if SIMULATOR or not kernel.overloads:
            return None
        registers, local = kernel.get_regs_per_thread(), kernel.get_local_mem_per_thread()
        return KernelUsage(max(registers.values()), max(local.values()))

    def bind_links(self, openings, macroscopic, state, buffer, links: LinkArrays, parameters):
        """One thread per link."""
        kernel = skeletons.links(openings, macroscopic, self.lattice, self.real)
        records = (links.node, links.q, links.outgoing, links.incoming, links.opening, links.momentum)
        arguments = (state, buffer, *records, links.kind, links.value, np.uint64(links.pitch), parameters)
        return self._bind(kernel, links.node.size, arguments, on_edge=True)

    def bind_walls(self, walls, buffer, links: WallArrays):
        """One thread per wall link, on the edge stream."""
        kernel = skeletons.walls(walls, self.lattice, self.real)
        records = (links.outgoing, links.arriving, links.opposed, links.incoming, links.coefficients, links.wall)
        return self._bind(kernel, links.wall.size, (buffer, *records, links.value), on_edge=True)

    def bind_moments(self, macroscopic, populations: Populations, out, parameters):
        """One thread per node."""
        kernel = skeletons.moments(macroscopic, self.lattice, self.real)
        sizes = (np.uint64(populations.pitch), np.uint64(populations.n_nodes))
        return self._bind(kernel, populations.n_nodes, (populations.buffer, *sizes, out, parameters))

    def bind_reduction(self, macroscopic, populations: Populations, result: ReductionArrays, parameters):
        """A fixed number of workers."""
        kernel = skeletons.reduction(macroscopic, self.lattice, self.real)
        sizes = (populations.pitch, populations.n_nodes)
        arguments = (populations.buffer, *sizes, result.mass, result.peak, result.speed, result.scale, parameters)
        return self._bind(kernel, result.mass.size, arguments)

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

    def _bind(self, kernel, n_threads, arguments, on_edge=False):
        stream = self._edge if on_edge else self._interior
        launch = (max(1, -(-n_threads // BLOCK)), BLOCK, stream)
        if SIMULATOR:  # its kernels know only the latest of their configurations
            return lambda: kernel[launch](*arguments)
        configured = kernel[launch]
        return lambda: configured(*arguments)

    def _allocate(self, size, dtype):
        try:
            return cuda.device_array(size, dtype)
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error):
                raise
            free, total = memory_free()
            raise BackendError(
                f"the GPU {self.device} has {free / 2**30:.1f} of {total / 2**30:.1f} GiB free, and"
                f" {size * np.dtype(dtype).itemsize / 2**30:.1f} GiB more are needed; use more ranks, fp32 or a coarser"
                " spacing"
            ) from error
