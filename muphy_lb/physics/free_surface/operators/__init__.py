"""The equations of a free surface. ``exchange`` moves mass and populations across the links of interface cells,
``column`` between cells at a wall at its contact angle, ``conversion`` turns cells and hands their mass over; ``extent``
measures the liquid."""
