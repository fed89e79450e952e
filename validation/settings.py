"""Settings of a validation run: size, backend, precision, streaming, ranks."""

from dataclasses import dataclass

from muphy_lb.domain import streaming_named
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator


@dataclass(frozen=True)
class Settings:
    """How the cases are computed; the reference values do not depend on it.

    Attributes:
        quick: small sizes, seconds instead of minutes.
        backend: what runs the kernels, as ``compute.backend`` of a case file.
        precision: of the stored populations, as ``compute.precision``.
        streaming: as ``compute.streaming``.
        communicator: the ranks that share each simulation.
    """

    quick: bool = False
    backend: str = "auto"
    precision: str = "fp64"
    streaming: str = "pull"
    communicator: SerialCommunicator | MpiCommunicator = SerialCommunicator()

    def compute_table(self) -> dict:
        """The table ``[compute]`` of a case file."""
        return {"backend": self.backend, "precision": self.precision, "streaming": self.streaming}

    @property
    def interpolates(self) -> bool:
        """Whether interpolated walls are possible: push overwrites what they read."""
        return streaming_named(self.streaming).fills_slots


DEFAULT = Settings()
