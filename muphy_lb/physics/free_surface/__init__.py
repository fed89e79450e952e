"""Free surface: a liquid that shares its voxels with a gas, which is not computed."""
