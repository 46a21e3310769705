"""Reading an agent's log in tests, whole or in two pieces, and what another program counts in recordings."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.hosts.log_format import AgentHomes, Cursor, Wanted
from tokeneconomizer.hosts.records import LoggedUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.log_format import LogFormat
    from tokeneconomizer.hosts.records import Record

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[3] / "shared")

NO_RECORDINGS = "no recorded sessions: name their folder in TOKENECONOMIZER_CORPUS"

Sums = dict[tuple[str, str], list[int]]
"""Input, output, read from the cache, written to it: by a session or a day, and model."""


def in_lines(events: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def read_all(log: LogFormat, path: Path, wanted: Wanted = Wanted.ALL) -> list[Record]:
    found: list[Record] = []
    for batch in log.read(log.file_at(path), None, wanted):
        found += [*batch.records, *batch.unfinished]
    return found


def read_in_two(log: LogFormat, path: Path, content: bytes, cut: int) -> list[Record]:
    """Read a file while it is written: its first bytes, then the rest."""
    found: list[Record] = []
    cursor = None
    for until in (cut, len(content)):
        path.write_bytes(content[:until])
        batches = list(log.read(log.file_at(path), cursor, Wanted.ALL))
        found += [record for batch in batches for record in batch.records]
        cursor = msgspec.json.decode(msgspec.json.encode(batches[-1].cursor), type=Cursor)
    return found + batches[-1].unfinished


def usages_in(records: Iterable[Record]) -> list[UsageRecord]:
    return [record.usage for record in records if isinstance(record, LoggedUsage)]


def usages_of_home(log: LogFormat, home: Path) -> list[UsageRecord]:
    files = log.files(AgentHomes(home))
    return [usage for file in files for usage in usages_in(read_all(log, Path(file.path), Wanted.USAGE))]


def summed(usages: Iterable[UsageRecord], key: Callable[[UsageRecord], str]) -> Sums:
    sums: Sums = defaultdict(lambda: [0, 0, 0, 0])
    for usage in usages:
        written = (usage.cache_write_5m or 0) + (usage.cache_write_1h or 0)
        counts = (usage.input, usage.output, usage.cache_read, written)
        for position, tokens in enumerate(counts):
            sums[key(usage), usage.model][position] += tokens or 0
    return dict(sums)


def reported(name: str, rows: str, key: str) -> Sums:
    """Return what ccusage counted in the recordings."""
    report = json.loads((CORPUS / "transcripts" / "real" / "ccusage" / f"{name}.json").read_bytes())
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    return {
        (row[key], str(model["modelName"]).removeprefix("[pi] ")): [model[name] for name in names]
        for row in report[rows]
        for model in row["modelBreakdowns"]
    }
