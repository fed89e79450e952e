"""The equations of a free surface. ``tension`` finds the pressure of surface tension; ``exchange`` moves mass and
populations across the links of interface cells, with ``column`` between cells at a wall, and ``outcome`` decides which
of them turn; ``completion`` replaces what dry cells send to wet ones; ``conversion`` turns cells and hands their mass
over; ``wet_shares`` are those of faces; ``extent`` measures the liquid."""
