"""Limits that settings start from: a module of its own, because `te` reads it each time."""

BLOCK_CHARACTERS = 1_500
"""Some twenty facts, and less than a screen; Claude Code cuts a context at 10,000."""

PROPOSER_CALLS_PER_DAY = 20
"""As often as the judge may be asked; a day of work has fewer sessions that end."""
