"""studies: validation against published numbers, benchmarks, scaling, comparison of backends."""
