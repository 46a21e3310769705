"""What a shell command runs, in which order, and what becomes of outputs and exit codes."""

from tokeneconomizer.domain.verdicts.shell.read import read_command, read_powershell
from tokeneconomizer.domain.verdicts.shell.reading import CommandReading, Invocation

__all__ = ["CommandReading", "Invocation", "read_command", "read_powershell"]
