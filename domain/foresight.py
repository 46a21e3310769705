"""Whether the answer to a hook call is certain to be empty, told before the call itself is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import ReturnCalls, StartCall, StartSession

if TYPE_CHECKING:
    from tokeneconomizer.domain.commands import HookCommand


def may_speak(command: HookCommand, quiet_steps: int) -> bool:
    """
    Return whether the answer may say anything.

    Args:
        command: the hook call, with the calls of which no hook told.
        quiet_steps: to how many further steps of the open turn there is nothing to say, whatever they are;
            0 where no turn is open.

    """
    # Who asks how long it will be so is always told.
    if command.looks_ahead or isinstance(command.step, StartSession):
        return True
    return quiet_steps < _judged_steps(command)


def _judged_steps(command: HookCommand) -> int:
    """Return of how many steps the guard judges now; what no hook told comes as one before the call's own."""
    match command.step:
        case ReturnCalls(whole_step=True):
            return 1 + bool(command.unheard)
        case StartCall():
            return int(bool(command.unheard))
        case _:
            return 0
