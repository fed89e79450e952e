"""Two fluids of equal density that do not mix: ``operators`` has the equations of interfaces, ``profile`` their shape,
``amounts`` those of both fluids, ``momentum`` their force, weight and viscosity, ``section`` the keys, ``package`` the
physics of a case, ``walls`` the normals of walls, ``narrow`` what carries both in pores of a voxel, ``start`` the
widest pores, ``structure`` parts and areas, ``observers`` the series."""
