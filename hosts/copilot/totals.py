"""What `session.shutdown` adds: its counts are of the whole session, over all its resumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.copilot.log_usage import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

_FIELDS = Tokens.__struct_fields__


class Totals:
    """
    The largest count of each model so far.

    Counts that go down add nothing: a shutdown may be written twice.
    """

    def __init__(self, kept: Iterable[str]) -> None:
        self._counted: dict[str, list[int]] = {}
        for line in kept:
            *counts, model = line.split(" ", len(_FIELDS))
            self._counted[model] = [int(count) for count in counts]

    def add(self, model: str, tokens: Tokens) -> Tokens | None:
        """Return what was not counted before; nothing for a model that took nothing since."""
        is_new = model not in self._counted
        counted = self._counted.setdefault(model, [0] * len(_FIELDS))
        grown: list[int | None] = []
        for position, name in enumerate(_FIELDS):
            now: int | None = getattr(tokens, name)
            grown.append(None if now is None else max(0, now - counted[position]))
            counted[position] = max(counted[position], now or 0)
        return Tokens(*grown) if is_new or any(grown) else None

    def kept(self) -> list[str]:
        """Return what makes these totals again."""
        return [" ".join([*map(str, counts), model]) for model, counts in self._counted.items()]
