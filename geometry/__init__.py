"""geometry: turns a picture of a vessel or a rock into numbered fluid nodes. It knows no physics and no rank."""
