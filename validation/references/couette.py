"""Flow between rotating coaxial cylinders.

Source: Landau and Lifshitz, Fluid Mechanics, section 18.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TaylorCouette:
    """Circular flow u(r) = A r + B / r, steady, stable at low rotation."""

    inner_radius: float  # inner_radius, outer_radius: R1 < R2
    outer_radius: float
    inner_rotation: float  # inner_rotation, outer_rotation: angular velocities
    outer_rotation: float = 0.0
    viscosity: float = 1.0  # kinematic
    density: float = 1.0  # of the fluid

    def velocity(self, r) -> np.ndarray:
        """Azimuthal velocity at the distances ``r`` from the axis."""
        r = np.asarray(r, dtype=np.float64)
        r1, r2 = self.inner_radius**2, self.outer_radius**2
        solid = (self.outer_rotation * r2 - self.inner_rotation * r1) / (r2 - r1)
        vortex = (self.inner_rotation - self.outer_rotation) * r1 * r2 / (r2 - r1)
        return solid * r + vortex / r

    def torque_per_length(self) -> float:
        """Torque of the fluid on the outer cylinder, per length; on the inner cylinder it is the opposite.

        4 pi mu (Omega1 - Omega2) R1^2 R2^2 / (R2^2 - R1^2).
        """
        r1, r2 = self.inner_radius**2, self.outer_radius**2
        difference = self.inner_rotation - self.outer_rotation
        return 4.0 * np.pi * self.density * self.viscosity * difference * r1 * r2 / (r2 - r1)
