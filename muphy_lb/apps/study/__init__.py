"""A study: an answer with a band, from many runs of a case whose uncertain values differ.

``command`` is ``muphy-lb study``, which ``started`` carries out, and ``study`` the same in Python. ``section`` holds
the keys, ``distributions`` the values that a parameter may take, ``samplers`` the values of all members, ``members``
their cases and folders, ``running`` one member after the other. Small members run side by side: ``packing`` joins their
nodes and openings, ``pack`` steps them, ``packed_members`` chooses them; ``phases`` counts the time of both. ``table``
holds all answers, ``answers`` their means, bands and sensitivity indices, ``expansion`` the response surface,
``discretisation`` the share of the grid, ``control_variate`` means with coarse members,
``blocks`` makes crops of an image, ``spread`` summarises answers over them; ``maps`` the
bands of fields at every point; ``pictures`` and ``report`` draw the page.
"""
