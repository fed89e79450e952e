"""Settings of a validation run: size, backend, precision, streaming, ranks."""

from dataclasses import dataclass

from muphy_lb.domain import streaming_named
from muphy_lb.parallel.communicator import MpiCommunicator, SerialCommunicator


@dataclass(frozen=True)
class Settings:
    """How the cases are computed; the reference values do not depend on it."""

    quick: bool = False  # small sizes, seconds instead of minutes
    backend: str = "auto"  # what runs the kernels, as ``compute.backend`` of a case file
    precision: str = "fp64"  # of the stored populations, as ``compute.precision``
    streaming: str = "pull"  # as ``compute.streaming``
    communicator: SerialCommunicator | MpiCommunicator = SerialCommunicator()  # the ranks that share each simulation

    def compute_table(self) -> dict:
        """The table ``[compute]`` of a case file."""
        return {"backend": self.backend, "precision": self.precision, "streaming": self.streaming}

    @property
    def interpolates(self) -> bool:
        """Whether interpolated walls are possible: push overwrites what they read."""
        return streaming_named(self.streaming).fills_slots


DEFAULT = Settings()
