"""Side calls that answer from a script, or fail."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.hosts.side_call import Answer, CommandLine
from tokeneconomizer.scheduler.side_calls import Ready, SideCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.hosts.side_call import Question


@dataclass
class Scripted(SideCalls):
    """
    Stands in for the agents that are asked.

    Attributes:
        usual: the answer once the script is at its end.
        script: what comes of the first questions.
        refused: why nobody can be asked, or empty.
        asked: the questions.
        meanwhile: done while a question is under way.

    """

    usual: str
    script: list[str | Exception] = field(default_factory=list)
    refused: str = ""
    asked: list[Question] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    def ready(self, host: str, question: Question) -> Ready:
        if self.refused:
            raise SideCallFailed(self.refused)
        self.asked.append(question)
        return Ready(host, CommandLine("", (), b""), {})

    async def ask(self, host: str, call: Ready) -> Answer:  # noqa: ARG002 - as the real one
        self.meanwhile()
        await asyncio.sleep(0)
        answer = self.script.pop(0) if self.script else self.usual
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer, "small-model", 0.001)
