"""output: files and pictures of a run, written on rank 0 in rank-independent order.

- ``vtkhdf``: fields over time; ``polydata``: points and cells over time; ``vtp``: triangles with values.
- ``series``: CSV series and ``summary.json``; ``report_html``: the report; ``charts``, ``film``: charts, films.
- ``drawing``: pictures that fail, units that they show; ``pictures/``: the pictures. ``beside``: in a thread.
- ``terminal``: printing and logging.
"""
