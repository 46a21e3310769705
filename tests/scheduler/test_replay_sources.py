from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from transcripts import transcript_in

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop, SkippedLine
from tokeneconomizer.scheduler.replay_sources import SOURCES, records_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_comes_as_prompts_steps_and_stops(tmp_path: Path) -> None:
    transcript = transcript_in(tmp_path)
    transcript.turn("make test", "git status")

    kinds = [type(record) for record in records_of(transcript.path, "claude_code")]

    assert kinds == [LoggedPrompt, LoggedStep, LoggedStep, LoggedStop]


def test_a_last_line_that_is_not_whole_is_replayed_as_far_as_it_goes(tmp_path: Path) -> None:
    transcript = transcript_in(tmp_path)
    transcript.turn("make test")
    transcript.path.write_bytes(transcript.path.read_bytes()[:-30])

    kinds = [type(record) for record in records_of(transcript.path, "claude_code")]

    assert kinds == [LoggedPrompt, SkippedLine, LoggedStep]


@pytest.mark.parametrize("source", SOURCES)
def test_a_file_that_cannot_be_read_is_told_in_words(source: str, tmp_path: Path) -> None:
    with pytest.raises(TokeneconomizerError, match="cannot be read"):
        list(records_of(tmp_path / "absent", source))
