"""What a validation run may choose: size, backend, precision."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How the cases are computed; it does not change what they are compared with.

    Attributes:
        quick: small sizes, seconds instead of minutes.
        backend: what runs the kernels, as ``compute.backend`` of a case file.
        precision: of the stored populations, ``"fp32"`` or ``"fp64"``.
    """

    quick: bool = False
    backend: str = "auto"
    precision: str = "fp64"

    def compute_table(self) -> dict:
        """The table ``[compute]`` of a case file."""
        return {"backend": self.backend, "precision": self.precision}


DEFAULT = Settings()
