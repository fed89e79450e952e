"""scaling: how fast a case runs on more and more ranks, and what that says of machines with many more."""
