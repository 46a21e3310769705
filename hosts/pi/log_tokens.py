"""
Pi's sessions, read for their tokens alone.

A file is a header and a tree of entries. Every branch of it really happened, so that all its turns and tokens
count, in the order of the lines. A fork is a new file that begins with copies of its parent's entries: those
older than its header. Their turns are passed over; their tokens are told as the parent's, whose file may be
gone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.fields import text, time_of
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines
from tokeneconomizer.hosts.pi.log_usage import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.pi.log_usage import Entry, Message, Usage
    from tokeneconomizer.hosts.records import Record


def read_tokens(path: str, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield the tokens that are new in a file; see `hosts.log_format.LogFormat.read`."""
    session_id = session_id_of(path)
    return read_lines(path, lambda state: TokenReader(session_id, state), cursor, Wanted.USAGE)


def session_id_of(path: str) -> str:
    """Return the session that a file's name tells: `<time>_<session>.jsonl`."""
    stem = Path(path).stem
    return stem.partition("_")[2] or stem


class TokenReader:
    """Folds the entries of one file; see `hosts.log_format.LineReader`."""

    USAGE_MARKERS: tuple[bytes, ...] = (b'"usage"', b'"session"', b'"model_change"')
    RECORD_MARKERS: tuple[bytes, ...] = ()

    def __init__(self, session_id: str, state: State) -> None:
        self._session_id = str(state.get("session") or session_id)
        self._folder = str(state.get("folder") or "")
        self._parent = str(state.get("parent") or "")
        self._forked = str(state.get("forked") or "")
        self._model = str(state.get("model") or "")
        self._provider = str(state.get("provider") or "")
        self._forked_at = time_of(self._forked)

    def state(self) -> State:
        """Return what the next line needs."""
        return {
            "session": self._session_id,
            "folder": self._folder,
            "parent": self._parent,
            "forked": self._forked,
            "model": self._model,
            "provider": self._provider,
        }

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object is a whole entry."""
        return bool(text(found, "type") and text(found, "timestamp"))

    def usage(self, raw: bytes) -> list[UsageRecord]:
        """Return the tokens of an entry."""
        entry = decode(raw)
        match entry.type:
            case "session":
                self._open(entry)
            case "model_change":
                self._model, self._provider = entry.model_id, entry.provider
            case "message" if entry.message:
                return self._of_message(entry, entry.message)
            case "compaction" | "branch_summary" | "usage":
                # Only `usage` entries name their model; summaries are made by the one in use.
                model, provider = entry.model or self._model, entry.provider or self._provider
                return self._record(entry, entry.usage, model, provider)
        return []

    def _open(self, entry: Entry) -> None:
        self._session_id = entry.id or self._session_id
        self._folder = entry.cwd
        self._parent = session_id_of(entry.parent_session) if entry.parent_session else ""
        self._forked = entry.timestamp if entry.parent_session else ""
        self._forked_at = time_of(self._forked)

    def _of_message(self, entry: Entry, message: Message) -> list[UsageRecord]:
        if message.role == "assistant":
            self._model, self._provider = message.model, message.provider
        # A tool that asked a model by itself says how many tokens that took, and not of which model.
        return self._record(entry, message.usage, message.model, message.provider)

    def _record(self, entry: Entry, usage: Usage | None, model: str, provider: str) -> list[UsageRecord]:
        if usage is None or usage.is_empty:
            return []
        at = time_of(entry.timestamp)
        is_copy = self._is_copy(at)
        return [
            UsageRecord(
                usage_id=f"{entry.id or self._session_id}:{entry.timestamp}",
                # Of a fork of a fork the header names the last parent alone.
                session_id=self._parent if is_copy else self._session_id,
                agent_id="",
                project=self._folder,
                at=at,
                model=model,
                provider=provider,
                input=usage.input,
                output=usage.output,
                cache_read=usage.cache_read,
                cache_write_5m=usage.cache_write,
                cache_write_1h=None,
                reasoning=usage.reasoning,
                copied=is_copy,
            )
        ]

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:  # noqa: ARG002 - of the protocol
        """Return nothing: these need more imports than tokens do."""
        return []

    def _is_copy(self, at: datetime | None) -> bool:
        """Return whether an entry was written before the fork that this file is."""
        return at is not None and self._forked_at is not None and at < self._forked_at
