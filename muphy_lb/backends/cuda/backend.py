"""The CUDA backend: device memory, four streams (edge and openings ahead of the interior, and that ahead of the bulk),
and kernels bound to their launch configuration."""

import weakref
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.arrays import Collected, StreamArrays
from muphy_lb.backends.cuda import peers
from muphy_lb.backends.cuda.device import (
    MORE,
    MOST,
    ORDINARY,
    SIMULATOR,
    clear,
    close_memory,
    cuda,
    event,
    event_seconds,
    make_stream,
    memory_free,
    open_memory,
    record_graph,
    release_freed,
    select_device,
    share_memory,
)
from muphy_lb.backends.cuda.kernels import KERNELS, stream_kernel
from muphy_lb.backends.cuda.skeletons import DOUBLE, PAIRED, SINGLE, Shape
from muphy_lb.backends.interface import AllocatedBytes, KernelTable, KernelUsage
from muphy_lb.base.errors import BackendError
from muphy_lb.base.kept.helpers import ahead
from muphy_lb.lattice.layout import WARP, whole
from muphy_lb.parallel.task import ON_BULK, ON_EDGE, ON_INTERIOR, ON_OPENINGS

BLOCK = 256
REDUCING_BLOCKS = 4 if SIMULATOR else 512


class DeviceTable(NamedTuple):
    """A run table on the device."""

    lines: object
    bases: object
    n_entries: int

    @property
    def index_type(self):
        """Type of an address."""
        return self.bases.dtype.type


class CudaBackend(KernelTable):
    """See :class:`muphy_lb.backends.interface.Backend`. Raises BackendError: no usable GPU, or not enough device
    memory."""

    name = "cuda"
    kernels = KERNELS
    makes_lists = has_bulk_queue = True
    on_host = False
    has_peers = not SIMULATOR

    def __init__(self, lattice, precision, device_index=0):
        self.device = select_device(device_index)
        self.lattice = lattice
        self.precision = precision
        self._allocated = AllocatedBytes()
        self._interior, self._bulk = make_stream(self, MORE), make_stream(self, ORDINARY)
        self._edge, self._openings = (make_stream(self, MOST) for _ in range(2))
        self._streams = {
            ON_INTERIOR: self._interior,
            ON_EDGE: self._edge,
            ON_OPENINGS: self._openings,
            ON_BULK: self._bulk,
        }
        self._interior_recorded = event()
        self._edge_done = event()
        self._edge_recorded = event()
        self._openings_done = event()
        self._interior_done = event()
        self._bulk_done = event()
        unknown, none = self.array(np.ones(2, np.int32)), self.zeros(0, np.uint32)
        self.nothing_known = Collected(unknown, none, none)
        self._opened, self._shared = {}, []
        self._awaited = []

    @property
    def allocated_bytes(self):
        """Bytes of all arrays that live."""
        return self._allocated.total

    def array_of_rows(self, host):
        """Row after row, so that accesses of a warp are contiguous."""
        return self.array(host)

    def array(self, host):
        """Flat device copy of a host array."""
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
        cuda.synchronize()  # a copy from pageable memory may return early, and the edge stream does not wait for it

    def synchronise(self):
        """Wait for all streams. Raises BackendError: a neighbour's halo has not come in time."""
        for stream in self._streams.values():
            stream.synchronize()
        for awaited in self._awaited:
            awaited.check()

    def release(self):
        """See the interface."""
        release_freed()

    def record_interior(self):
        """Record an event on the interior stream."""
        self._interior_recorded.record(self._interior)

    def edge_waits_for_interior(self):
        """The edge stream waits for the recorded event."""
        self._interior_recorded.wait(self._edge)

    def interior_waits_for_edge(self):
        """The interior stream waits for all work enqueued on the edge stream so far."""
        self._edge_done.record(self._edge)
        self._edge_done.wait(self._interior)

    def openings_wait_for_edge(self):
        """The openings' stream waits for all work enqueued on the edge stream so far."""
        self._edge_recorded.record(self._edge)
        self._edge_recorded.wait(self._openings)

    def edge_waits_for_openings(self):
        """The edge stream waits for all work enqueued on the openings' stream so far."""
        self._openings_done.record(self._openings)
        self._openings_done.wait(self._edge)

    def bulk_waits_for_interior(self):
        """The bulk's stream waits for all work enqueued on the interior stream so far."""
        self._interior_done.record(self._interior)
        self._interior_done.wait(self._bulk)

    def interior_waits_for_bulk(self):
        """The interior stream waits for all work enqueued on the bulk's stream so far."""
        self._bulk_done.record(self._bulk)
        self._bulk_done.wait(self._interior)

    def record(self, launches, queue=None):
        """Record a CUDA graph, except in the simulator. With all queues the edge's stream is forked from the interior's
        and joined with it again, as that of the openings is with the edge's, and that of the bulk within each step."""

        def alone():
            for launch in launches:
                launch()

        def forked():
            self.record_interior()
            self.edge_waits_for_interior()
            alone()
            self.interior_waits_for_edge()

        work, stream = (alone if queue else forked), self._streams[queue or ON_INTERIOR]
        return work if SIMULATOR else record_graph(stream, work)

    def stamp(self, queue):
        """Record an event with timing."""
        stamp = event(timing=True)
        stamp.record(self._streams[queue])
        return stamp

    def seconds_between(self, first, second):
        """Elapsed time [s] between two events."""
        return event_seconds(first, second)

    def reduction_workers(self, n_nodes):
        """A fixed number of blocks that fills the GPU, whatever the domain."""
        return REDUCING_BLOCKS

    def stream_table(self, addresses, phase):
        """The run table in device memory."""
        runs = addresses.runs(phase)
        return DeviceTable(self.array(runs.lines), self.array(runs.bases), runs.n_directions)

    def neighbour_table(self, neighbours):
        """The table with one record for all warps alike, in device memory."""
        return self.array(neighbours.records())

    def launch_shapes(self, pattern):
        """Two nodes per thread keep more loads in flight, if there are registers for them: in half precision, and with
        in-place streaming, which keeps the table addresses anyway."""
        singles = [Shape(SINGLE, block) for block in (256, 128, 384)]
        doubles = [Shape(DOUBLE, block) for block in (64, 96, 128)]
        if self.precision.storage is np.float16 and pattern.stores_locally:
            return (*(Shape(PAIRED, block) for block in (128, 256)), *singles)
        wants_two = pattern.in_place and self.precision.real is np.float32
        return (*doubles, *singles) if wants_two else (*singles, *doubles)

    def stream_collide_usage(self, collide, arrays: StreamArrays, shape=None, behind=None):
        """Registers and local memory per thread of the compiled kernel."""
        kernel = stream_kernel(collide, arrays, shape or self.launch_shapes(arrays.pattern)[0], self, behind)
        if SIMULATOR or not kernel.overloads:
            return None
        registers, local = kernel.get_regs_per_thread(), kernel.get_local_mem_per_thread()
        return KernelUsage(max(registers.values()), max(local.values()))

    def view(self, array, first, last):
        """Slice of a device array."""
        return array[first:last]

    def copy(self, source, target):
        """Launch of a device-to-device copy on the interior stream."""
        return lambda: target.copy_to_device(source, stream=self._streams[ON_INTERIOR])

    def download(self, array, host):
        """Launch that copies a device array to a page-locked one, on the edge's queue."""
        return lambda: array.copy_to_host(host, stream=self._edge)

    def upload(self, host, array):
        """Launch that copies a page-locked array to the device, on the edge's queue."""
        return lambda: array.copy_to_device(host, stream=self._edge)

    def edge_mark(self):
        """An event of the edge stream."""
        mark = event()
        return partial(mark.record, self._edge), mark.synchronize

    def finish_edge(self):
        """Wait for the edge stream."""
        self._edge.synchronize()

    def nccl(self):
        """The interface of :mod:`muphy_lb.backends.cuda.nccl` on the edge's queue. Raises Exception: of any type, if
        NCCL is not available."""
        from muphy_lb.backends.cuda import nccl

        return SimpleNamespace(new_identity=nccl.new_identity, join=partial(nccl.join, stream=self._edge))

    def share(self, array, first):
        """Handle by which another process of the machine can access the array from ``array[first]`` on; can be sent: of
        the allocation, and the offset in it. Memory that others have opened must not become free, or the driver refuses
        to open its successor."""
        handle, offset = share_memory(array.device_ctypes_pointer.value)
        self._shared.append(array)
        return handle, offset + first * array.dtype.itemsize

    def open_shared(self, handle):
        """Address in this process of memory that another process has shared. An allocation is opened once; those still
        open are closed with the backend."""
        allocation, offset = handle
        if allocation not in self._opened:
            address = open_memory(allocation)
            self._opened[allocation] = address, weakref.finalize(self, close_memory, allocation)
        return self._opened[allocation][0] + offset

    def opened_shared(self):
        """Handles of the allocations that :meth:`open_shared` has opened and that are not closed."""
        return frozenset(self._opened)

    def close_shared(self, but=frozenset()):
        """Close all of :meth:`opened_shared` that is not in ``but``."""
        for allocation in self.opened_shared() - but:
            _, close = self._opened.pop(allocation)
            close()

    def make_signal(self, flags, there, neighbours, is_confirmed, first_passes=False):
        """Flags that ranks raise at each other, counted on the device, since a recorded launch cannot count. Without
        trust, waiting for them is given up after some seconds; with it, after half an hour, and then
        :meth:`synchronise` raises a BackendError.

        Args:
            flags: a device array with one for each of ``neighbours``.
            there: the addresses of ours at the neighbours.
            first_passes: whether the first wait needs no flag.
        """
        sent, blocks = (self.zeros(1, np.uint32) for _ in range(2))
        awaited = self.array(np.full(1, 2**32 - 1 if first_passes else 0, dtype=np.uint32))
        counters = sent, awaited, blocks
        limit = np.array([peers.RUN_POLLS if is_confirmed else peers.TRIAL_POLLS], dtype=np.uint64)
        late = self.host_buffer(len(neighbours), np.uint32)  # the device writes there, since addresses are unified
        late[:] = 0
        self._awaited.append(peers.Awaited(tuple(neighbours), late, is_confirmed))
        places = late.ctypes.data + late.itemsize * np.arange(late.size, dtype=np.uint64)
        known = flags, self.array(there), *counters, self.array(limit), self.zeros(1, np.uint32)
        return peers.Signal(*known, self.array(places))

    def send(self, buffer, addresses, targets, filled, emptied=None):
        """Launch that copies ``buffer[addresses[i]]`` to the address ``targets[i]``, then raises our flags of the
        signal ``filled``; on the edge. Into mailboxes it waits first until every neighbour has raised its flag of the
        signal ``emptied`` once more than at the last wait."""
        words = buffer.view(peers.STORED_AS[buffer.dtype.itemsize])
        message = words, addresses, targets, filled
        if emptied is None:
            return self.launch(peers.send, addresses.size, message, queue=ON_EDGE)
        return self.launch(peers.send_to_mailbox, addresses.size, (*message, emptied), queue=ON_EDGE)

    def send_rows(self, messages, row, targets, filled):
        """The same, without waiting, in few blocks, for messages that lie one after the other, equally long, each a
        number n and rows of some length: of each row the first n values are sent. ``targets`` are the addresses of the
        messages."""
        length = messages.size // max(1, targets.size)
        arguments = messages, length, row, targets, filled
        return self.launch(peers.send_rows, peers.ROW_BLOCKS * BLOCK, arguments, queue=ON_EDGE)

    def await_flags(self, filled):
        """Launch that makes the edge wait until every neighbour has raised its flag once more than at the last wait."""
        n_threads = filled.flags.size
        return self.launch(peers.wait, n_threads, (filled,), queue=ON_EDGE, block=whole(n_threads, WARP))

    def empty(self, mailbox, buffer, addresses, filled, emptied, accumulates=False):
        """Launch of few blocks that waits as :meth:`await_flags`, copies ``mailbox[i]`` to ``buffer[addresses[i]]``, or
        adds integers there, then raises our flags of the signal ``emptied``; on the edge."""
        kernel = peers.add_from_mailbox if accumulates else peers.empty_mailbox
        n_threads = min(mailbox.size, peers.EMPTYING_BLOCKS * BLOCK)
        return self.launch(kernel, n_threads, (mailbox, buffer, addresses, filled, emptied), queue=ON_EDGE)

    def has_timed_out(self, signal):
        """Whether a wait for its flags has been given up, as the waiting kernel notes."""
        return bool(self.to_host(signal.failed)[0])

    def launch(self, kernel, n_threads, arguments, queue=ON_INTERIOR, block=BLOCK):
        """Launch of a compiled kernel with at least ``n_threads`` threads on a queue."""
        launch = (max(1, -(-n_threads // block)), block, self._streams[queue])
        if SIMULATOR:  # its kernels know only the latest of their configurations
            return lambda: kernel[launch](*arguments)
        ahead(kernel, arguments)
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
        self._allocated.count(array, size * np.dtype(dtype).itemsize)
        return array
