"""transports: ways to transfer messages between ranks, one file each; all transfer the same bytes. ``transport`` holds
their contract and common parts, ``host`` copies through the host, ``device_pointers`` uses CUDA-aware MPI, ``nccl``
NVIDIA's library, ``peer`` writes into the memory of other GPUs of the machine."""

from muphy_lb.parallel.transports.device_pointers import DevicePointers
from muphy_lb.parallel.transports.host import HostStaged
from muphy_lb.parallel.transports.nccl import Nccl
from muphy_lb.parallel.transports.peer import Peer
from muphy_lb.parallel.transports.transport import ExchangeTasks, Transport, TransportFailure, collectively
