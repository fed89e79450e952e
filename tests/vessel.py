"""A small branching vessel as a case, and the command line called inside this process."""

from argparse import ArgumentParser
from contextlib import redirect_stdout
from io import StringIO

from muphy_lb.__main__ import _execute, _parser, configure_logging
from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.verdict import DOUBTFUL_EXIT_CODE
from tests import channel

TABLE = {
    "title": "small vessel",
    "geometry": {
        "shape": "branching_vessel",
        "spacing_m": 1e-3,
        "options": {"generations": 1, "parent_radius_m": 4e-3},
    },
    "openings": [
        {"name": "inlet", "velocity_m_s": 0.02},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.0},
    ],
    "fluid": {"density_kg_m3": 1060.0, "kinematic_viscosity_m2_s": 4e-5},
    "lattice": {"lattice_velocity": 0.015},
    "compute": {"backend": "cpu"},
    "run": {"steps": 60, "ramp_steps": 30, "check_interval_steps": 10},
    "output": {"series_every_steps": 10, "picture": False, "vtk": False},
}


STARTING = DOUBTFUL_EXIT_CODE
"""Exit code of its run: in so few steps nothing has left yet of all that enters."""
ENDED = (0, DOUBTFUL_EXIT_CODE)
"""Exit codes of runs that have come to their end, whatever their flow is worth."""


def changed(**sections):
    """The tables of the vessel with keys of some sections changed; ``None`` removes a key."""
    return channel.changed(TABLE, **sections)


def vessel(**sections):
    """The vessel as a checked case."""
    return case_from_dict(changed(**sections))


def write_case(folder, **sections):
    """Write the vessel as ``vessel.toml``; returns the path."""
    path = folder / "vessel.toml"
    path.write_text(vessel(**sections).to_toml())
    return path


def command(*arguments):
    """Call a command on one rank of this process; returns the exit code, raises what the command line would tell."""
    words = [str(argument) for argument in arguments]
    return _execute(_parser(words).parse_args(words), SerialCommunicator())


def command_on(communicator, *arguments) -> tuple[int, str]:
    """Call a command on the ranks of a communicator: exit code, and what rank 0 printed."""
    words = [str(argument) for argument in arguments]
    with redirect_stdout(StringIO()) as said:
        configure_logging(communicator)
        code = _execute(_parser(words).parse_args(words), communicator)
    return code, said.getvalue()


def called(command, add_options, *arguments, communicator=None):
    """Call a command by its function, with its own options: exit code, and what it said."""
    parser, said = ArgumentParser(), []
    add_options(parser)
    options = parser.parse_args([str(argument) for argument in arguments])
    return command(options, said.append, communicator or SerialCommunicator()), "\n".join(said)
