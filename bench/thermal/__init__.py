"""Benchmarks of thermal flow.

``thelma`` compares with the performance model of TheLMA; ``table`` lists.
"""
