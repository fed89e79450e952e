"""geometry: from an image or a surface of a vessel or a rock to numbered fluid nodes; independent of physics and
ranks."""
