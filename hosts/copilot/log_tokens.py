"""
Copilot CLI's events, read for their tokens alone.

A session is one file, its resumes and sub-agents included; `agentId` tells those apart. Newer versions write
a `session.usage_record` for each model reply. Older ones tell tokens only in `session.shutdown`, which counts
the whole session: it adds what has grown since the last one, and nothing where replies were told one by one.
The output tokens of an `assistant.message` are not counted: what that reply read is in no line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.copilot.log_usage import decode
from tokeneconomizer.hosts.copilot.totals import Totals
from tokeneconomizer.hosts.fields import text, time_of
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.hosts.copilot.log_usage import Event, Tokens
    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record


def read_tokens(path: str, session_id: str, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield the tokens that are new in a file; see `hosts.log_format.LogFormat.read`."""
    return read_lines(path, lambda state: TokenReader(session_id, state), cursor, Wanted.USAGE)


class TokenReader:
    """Folds the events of one file; see `hosts.log_format.LineReader`."""

    # The types of all events with tokens, and of those that name the session and its folder, begin so.
    USAGE_MARKERS: tuple[bytes, ...] = (b'"session.',)
    RECORD_MARKERS: tuple[bytes, ...] = ()

    def __init__(self, session_id: str, state: State) -> None:
        kept = state.get("totals")
        self._session_id = str(state.get("session") or session_id)
        self._folder = str(state.get("folder") or "")
        self._has_replies = bool(state.get("replies"))
        self._totals = Totals(kept if isinstance(kept, list) else ())

    def state(self) -> State:
        """Return what the next line needs."""
        return {
            "session": self._session_id,
            "folder": self._folder,
            "replies": self._has_replies,
            "totals": self._totals.kept(),
        }

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object is a whole event."""
        return "data" in found and all(text(found, name) for name in ("type", "id", "timestamp"))

    def usage(self, raw: bytes) -> list[UsageRecord]:
        """Return the tokens of a reply, or what a shutdown adds to them."""
        event = decode(raw)
        match event.type:
            case "session.start":
                self._session_id = event.data.session_id or self._session_id
                self._work_in(event)
            case "session.resume" | "session.context_changed":
                self._work_in(event)
            case "session.usage_record":
                return self._reply(event)
            case "session.shutdown":
                return self._shutdown(event)
        return []

    def _work_in(self, event: Event) -> None:
        context = event.data.context
        self._folder = (context.cwd if context else "") or event.data.cwd or self._folder

    def _reply(self, event: Event) -> list[UsageRecord]:
        reply = event.data.usage
        if reply is None:
            return []
        self._has_replies = True
        found = self._record(event, reply, reply.model)
        payer = reply.accounting.source_session_id if reply.accounting else ""
        return [
            replace(
                found,
                session_id=payer or found.session_id,
                agent_id=event.agent_id or reply.parent_tool_call_id,
                provider=reply.model_provider,
            )
        ]

    def _shutdown(self, event: Event) -> list[UsageRecord]:
        found: list[UsageRecord] = []
        for model, metric in (event.data.model_metrics or {}).items():
            grown = self._totals.add(model, metric.usage) if metric.usage else None
            if grown and not self._has_replies:
                record = self._record(event, grown, model)
                found.append(replace(record, usage_id=f"{record.usage_id}:{model}"))
        self._has_replies = False
        return found

    def _record(self, event: Event, tokens: Tokens, model: str) -> UsageRecord:
        return UsageRecord(
            usage_id=event.id or f"{self._session_id}:{event.timestamp}",
            session_id=self._session_id,
            agent_id="",
            project=self._folder,
            at=time_of(event.timestamp),
            model=model,
            provider="",
            input=tokens.uncached_input,
            output=tokens.output_tokens,
            cache_read=tokens.cache_read_tokens,
            cache_write_5m=tokens.cache_write_tokens,
            cache_write_1h=None,
            reasoning=tokens.reasoning_tokens,
        )

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:  # noqa: ARG002 - of the protocol
        """Return nothing: these need more imports than tokens do."""
        return []
