"""run: the simulation, its time loop, and every reason to stop.

- ``simulation`` (build, run, change, save) on ``results`` (answers) and ``records``: the users' interface;
  ``exports``, ``plots``: its fields for other libraries, its figures.
- ``solver`` steps, ``state`` sets, records and continues the state; ``preparation``: a case bound to its ranks;
  ``rehearsal``: its kernels asked for ahead.
- ``openings``: flow rates and pressures; ``walls``: forces and stress at walls.
- ``loop``: steps and observers; ``observers``: their table; ``criteria``: steady, periodic flows; ``frozen``: flows
  that stay as they are; ``verdict``: checks at the end; ``stop_signals``; ``progress``; ``trace``: time line of a step.
- ``profile``: wall time of a run by phase; ``warm``: kernels compiled ahead.
- ``checkpoint``: files of a state; ``folder``: lock and early refusals of an output folder; ``changes``: other values,
  other owners of nodes. ``description``: ``muphy-lb info``; ``options``: of commands.
"""
