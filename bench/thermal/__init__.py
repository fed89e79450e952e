"""Benchmarks of thermal flow."""
