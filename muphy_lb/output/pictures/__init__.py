"""pictures: images of the flow written by a run. ``vessel`` is the image of a run, ``wall`` that of a quantity on
walls; ``cut`` chooses the plane, ``projection`` casts rays through the volume, ``shading`` lights what they hit,
``panels`` lays out headings and colour bars, ``particles`` draws particles and chains on them, ``theme`` sets
colours."""
