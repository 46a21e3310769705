"""Recorded sessions and the labels of their turns, where a folder of them is at hand."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.scheduler import replay_sources
from tokeneconomizer.scheduler.replay import replay
from tokeneconomizer.scheduler.scoring import Label, label_from

if TYPE_CHECKING:
    from tokeneconomizer.hosts.records import ReplayRecord
    from tokeneconomizer.scheduler.replay import ReplayedTurn

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[3] / "shared")
NO_CORPUS = "no labelled turns: name their folder in TOKENECONOMIZER_CORPUS"

LOGS = {
    "claude_code": "transcripts/real/claude/**/*.jsonl",
    "codex": "transcripts/real/codex/**/*.jsonl",
    "copilot": "transcripts/real/copilot/**/events.jsonl",
    "opencode": "transcripts/real/opencode/**/*.json",
    "pi": "transcripts/real/pi/**/*.jsonl",
}
"""Where each agent's recorded sessions lie."""


def labels() -> list[Label]:
    """All labels, each stretch once."""
    found: dict[tuple[str, str], Label] = {}
    for name in ("dev.jsonl", "calls/labels.jsonl"):
        path = CORPUS / "loops" / name
        lines = path.read_text().splitlines() if path.exists() else []
        for label in map(label_from, map(json.loads, lines)):
            found.setdefault((label.host, label.name), label)
    return list(found.values())


def log_of(label: Label) -> Path:
    return CORPUS / (label.file if label.folder == "shared" else f"loops/calls/{label.file}")


@lru_cache
def records_of(path: Path, host: str) -> tuple[ReplayRecord, ...]:
    return tuple(replay_sources.records_of(path, host))


@lru_cache
def turns_of(path: Path, host: str) -> tuple[ReplayedTurn, ...]:
    return tuple(replay(records_of(path, host), host, Rules()))
