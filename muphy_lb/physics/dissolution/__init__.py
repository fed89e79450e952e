"""A solid that dissolves in the fluid, or grows from it, by the rate of its wall: ``section`` holds its keys and checks
them, ``package`` refuses what it does not go with. ``muphy-lb dissolve`` moves its surface."""
