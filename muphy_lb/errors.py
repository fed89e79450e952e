"""The errors of muphy_lb, each with the exit code that the command line ends with."""


class MuphyError(Exception):
    """Base of all errors that are told to the user in one message."""

    exit_code = 1


class InputError(MuphyError):
    """Bad input: the message names the thing, its value, what is allowed and the remedy."""

    exit_code = 2


class DivergedError(MuphyError):
    """The flow became unstable: a value is not finite or the Mach number passed its limit."""

    exit_code = 3


class OutputError(MuphyError):
    """An output cannot be written."""

    exit_code = 4


class BackendError(MuphyError):
    """The chosen backend cannot run here: no GPU, no toolkit, not enough memory."""

    exit_code = 5
