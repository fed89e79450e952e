"""The papers' benchmarks, each beside the paper's own numbers.

``published``: the numbers, table by table; ``table``: a table with both; ``toelke``, ``table1`` (Bernaschi et al.) and
``bang``: the benchmarks of three papers, those of the others lie with their physics (``bench/thermal``,
``bench/free_surface``) and with ``bench/scaling``; ``measured``: what was measured, on which GPU and when, kept in
``measured.json``.
"""
