"""The equations of a free surface. ``exchange`` moves mass and populations across the links of interface cells, with
``column`` between cells at a wall; ``conversion`` turns cells and hands their mass over; ``extent`` measures the
liquid."""
