"""What an agent's own log tells of a turn's context, beside its calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToldContext:
    """
    Numbers and names as the log shows them; None, or empty, is what it does not show.

    Attributes:
        provider: who served the turn's replies.
        used_tokens: what the agent says that its context holds.
        window_tokens: what it says that fits.
        prompt_characters: of the system prompt with the definitions of all loaded tools, as sent.

    """

    provider: str = ""
    used_tokens: int | None = None
    window_tokens: int | None = None
    prompt_characters: int | None = None


NOTHING_TOLD = ToldContext()
