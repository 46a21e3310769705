"""What to answer an agent: decided by the rules, put into each agent's own words by `hosts`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """
    The answer to one hook call; empty texts mean that nothing is said.

    Attributes:
        context: text for the model, beside the newest result or at the session's start.
        hint: text for the user.
        echo_hint: whether the model is asked to repeat the hint, because the agent hides it.
        quiet_steps: after how many further steps there certainly is nothing to say; told to those that ask.

    """

    context: str = ""
    hint: str = ""
    echo_hint: bool = False
    quiet_steps: int = 0

    @property
    def says_something(self) -> bool:
        """Whether anything is to be delivered."""
        return bool(self.context or self.hint)


NOTHING = Decision()
