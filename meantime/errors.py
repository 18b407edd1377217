"""Errors and warnings of meantime.

Every error a user can cause is an `InputError` whose message names the file, row and value and
says what would be accepted. The command line turns `exit_code` into the process's exit status.
"""


class MeantimeError(Exception):
    """Base of all errors raised on purpose by meantime."""

    exit_code = 1


class InputError(MeantimeError, ValueError):
    """Input that cannot be used: a file, a value, an option. Exit status 2."""

    exit_code = 2


class ConvergenceError(MeantimeError):
    """A fit whose draws cannot be trusted. Exit status 3."""

    exit_code = 3


class MeantimeWarning(UserWarning):
    """Base of all warnings of meantime."""


class ConvergenceWarning(MeantimeWarning):
    """An unconverged fit was kept because `allow_unconverged=True` was given."""
