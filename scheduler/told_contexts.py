"""What an agent's log tells of the context of its turns: folded from its records, one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext
from tokeneconomizer.domain.labels import label
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedUsage, LoggedWindow

if TYPE_CHECKING:
    from tokeneconomizer.hosts.records import Record


class ToldContexts:
    """The context of one agent's open turn."""

    def __init__(self) -> None:
        self._told = NOTHING_TOLD

    def take(self, record: Record) -> None:
        """Take what a record tells of it; the last word of each kind holds."""
        match record:
            case LoggedUsage():
                provider = label(record.usage.provider) or self._told.provider
                self._told = replace(self._told, provider=provider)
            case LoggedWindow():
                self._told = with_window(self._told, record)
            case LoggedCatalogue(whole=True):
                self._told = replace(self._told, prompt_characters=_prompt_characters(record))
            case _:
                return

    def of_turn(self) -> ToldContext:
        """Return what was told since the last turn ended."""
        return self._told

    def begin_turn(self) -> None:
        """Forget the turn before; its request's shape is told again only when that changes."""
        self._told = ToldContext(prompt_characters=self._told.prompt_characters)


def with_window(told: ToldContext, record: LoggedWindow) -> ToldContext:
    """Return what was told with what a record says, too."""
    return replace(
        told,
        used_tokens=told.used_tokens if record.used is None else record.used,
        window_tokens=told.window_tokens if record.size is None else record.size,
    )


def _prompt_characters(request: LoggedCatalogue) -> int | None:
    """Return the size of all that a request begins with; None where a part is unknown."""
    sizes = [tool.characters for tool in request.tools if not tool.deferred]
    if request.prompt_characters is None or None in sizes:
        return None
    return request.prompt_characters + sum(size for size in sizes if size is not None)
