"""What all ranks hold, on rank 0."""

import numpy as np


def gathered_particles(engine, communicator) -> dict[str, dict[str, np.ndarray]] | None:
    """Columns of all particles by set and name, by ascending id, on rank 0; collective."""
    found = {}
    for each in engine.model.particles:
        parts = communicator.gather(engine.particle_sets.get(each.name))
        if parts:
            joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            order = np.argsort(joined["id"])
            found[each.name] = {name: column[order] for name, column in joined.items()}
    return None if communicator.rank else found
