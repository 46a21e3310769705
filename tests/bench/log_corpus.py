"""
Made-up logs of Claude Code, Codex, Copilot CLI and Pi: lines of the shapes and sizes that these write.

How long lines are, and how many have long tool results, tokens, or more than ASCII, is as in recorded
sessions. The same seed gives the same bytes.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED = 20_260_104

SHARES = {"claude_code": 0.6, "codex": 0.25, "pi": 0.1, "copilot": 0.05}
"""Agent -> its part of all bytes."""

SESSION_BYTES = 500_000
"""The mean: sessions of an hour or two."""

RESULT_MEDIAN_CHARACTERS, RESULT_SIGMA, RESULT_CHARACTERS_MAX = 900, 1.3, 32_000
"""Of tool results: log-normal, a few in a hundred of tens of KB."""

BEYOND_ASCII_SHARE = 0.25

BEGAN_AT = datetime(2026, 1, 4, 9, tzinfo=UTC)
FOLDER = "/home/dev/project"
INSTRUCTIONS_CHARACTERS = 12_000
POOL_CHARACTERS = 1_000_000
WORDS = [
    *("assert", "build", "class", "def", "else", "expected", "failed", "for", "from", "handle", "if"),
    *("import", "in", "line", "module", "none", "of", "open", "order", "passed", "path", "project", "raise"),
    *('"result"', "return", "self", "src/total.py", "test_total", "the", "to", "total", "value", "with"),
    *("{", "}", "(0.02s)", "=", "==", "\n", "\n    ", "\\d+", "\t"),
]
BEYOND_ASCII = ("—", "“quoted”", "✓", "合計", "größer", "→")

Line = dict[str, object]


@dataclass(frozen=True, slots=True)
class Spent:
    """The tokens of one reply."""

    uncached: int
    output: int
    cache_read: int
    cache_write: int


class Session:
    """What the sessions of all agents are made of: ids, moments that go on, texts and tokens."""

    def __init__(self, chance: random.Random, pool: str, number: int) -> None:
        self.chance = chance
        self._pool = pool
        self.at = BEGAN_AT + timedelta(minutes=7 * number)
        self.id = self.new_id()
        self.context = 12_000

    def new_id(self) -> str:
        """Return an id of the form that most agents use: a UUID of version 7, which begins with its time."""
        moment = f"{int(self.at.timestamp() * 1000):012x}"
        rest = f"{self.chance.getrandbits(72):018x}"
        return f"{moment[:8]}-{moment[8:]}-7{rest[:3]}-8{rest[3:6]}-{rest[6:]}"

    def now(self) -> str:
        """Return a moment some seconds later."""
        self.at += timedelta(milliseconds=self.chance.randrange(200, 9_000))
        return f"{self.at:%Y-%m-%dT%H:%M:%S}.{self.at.microsecond // 1000:03}Z"

    def text(self, characters: int) -> str:
        """Return a text of so many characters, or a few more."""
        start = self.chance.randrange(len(self._pool) - characters)
        cut = self._pool[start : start + characters]
        if self.chance.random() < BEYOND_ASCII_SHARE:
            return f"{cut} {self.chance.choice(BEYOND_ASCII)}"
        return cut

    def result(self) -> str:
        """Return a tool's output."""
        size = self.chance.lognormvariate(0, RESULT_SIGMA) * RESULT_MEDIAN_CHARACTERS
        return self.text(min(int(size), RESULT_CHARACTERS_MAX))

    def spent(self) -> Spent:
        """Return what the next reply took: nearly all of a growing context comes from the cache."""
        grown = self.chance.randrange(100, 4_000)
        spent = Spent(self.chance.randrange(1, 400), self.chance.randrange(20, 900), self.context, grown)
        self.context += grown
        return spent

    def steps(self) -> range:
        """Return the steps of a turn."""
        return range(self.chance.randrange(3, 20))


def claude_code(session: Session) -> Iterator[Line]:
    """Yield the turns of a session of Claude Code, without end."""
    parent: str | None = None

    def line(kind: str, **fields: object) -> Line:
        nonlocal parent
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": FOLDER,
            "sessionId": session.id,
            "version": "2.1.332",
            "gitBranch": "main",
        }
        parent = session.new_id()
        return {**common, "type": kind, **fields, "uuid": parent, "timestamp": session.now()}

    while True:
        yield {"type": "mode", "mode": "normal", "sessionId": session.id}
        yield line("user", message={"role": "user", "content": session.text(300)}, promptId=session.new_id())
        for _ in session.steps():
            usage = _claude_usage(session.spent())
            message_id, request_id = f"msg_{session.new_id()}", f"req_{session.new_id()}"
            call_id = f"toolu_{session.new_id()}"
            call: Line = {"type": "tool_use", "id": call_id, "name": "Bash"}
            call |= {"input": {"command": session.text(120)}}
            # One line a block, with the usage of the whole reply.
            for block in ({"type": "text", "text": session.text(400)}, call):
                message: Line = {
                    "model": "claude-test-1",
                    "id": message_id,
                    "type": "message",
                    "role": "assistant",
                }
                message |= {"content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}
                yield line("assistant", message=message, requestId=request_id)
            data = {"type": "hook_progress", "hookEvent": "PostToolUse", "hookName": "PostToolUse:Bash"}
            yield line("progress", data=data, toolUseID=call_id, parentToolUseID=call_id)
            output = session.result()
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": False}
            outcome = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            yield line("user", message={"role": "user", "content": [result]}, toolUseResult=outcome)
        yield line("system", subtype="turn_duration", durationMs=87_785, isMeta=False)


def _claude_usage(spent: Spent) -> Line:
    return {
        "input_tokens": spent.uncached,
        "cache_creation_input_tokens": spent.cache_write,
        "cache_read_input_tokens": spent.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": spent.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": spent.output,
        "service_tier": "standard",
    }


def codex(session: Session) -> Iterator[Line]:
    """Yield the turns of a rollout, without end."""
    total = dict.fromkeys(_codex_usage(Spent(0, 0, 0, 0)), 0)

    def line(kind: str, **payload: object) -> Line:
        return {"timestamp": session.now(), "type": kind, "payload": payload}

    header = {"session_id": session.id, "id": session.id, "timestamp": session.now(), "cwd": FOLDER}
    header |= {"originator": "codex-tui", "cli_version": "0.144.1", "source": "cli"}
    header |= {"model_provider": "openai"}
    yield line("session_meta", **header, base_instructions={"text": session.text(INSTRUCTIONS_CHARACTERS)})
    while True:
        turn_id = session.new_id()
        yield line("event_msg", type="task_started", turn_id=turn_id, model_context_window=258_400)
        policy = {"approval_policy": "never", "sandbox_policy": {"type": "danger-full-access"}}
        yield line("turn_context", turn_id=turn_id, cwd=FOLDER, **policy, model="gpt-test-1", effort="high")
        prompt = session.text(300)
        content = [{"type": "input_text", "text": prompt}]
        yield line("response_item", type="message", role="user", content=content)
        yield line("event_msg", type="user_message", message=prompt, images=[], text_elements=[])
        for _ in session.steps():
            sealed = f"{session.chance.getrandbits(6_000):x}"
            yield line("response_item", type="reasoning", summary=[], encrypted_content=sealed)
            call_id = f"call_{session.new_id()}"
            arguments = json.dumps({"command": ["bash", "-lc", session.text(120)], "workdir": FOLDER})
            yield line(
                "response_item", type="function_call", name="shell", arguments=arguments, call_id=call_id
            )
            output = f"Exit code: 0\nWall time: 0.3 seconds\nOutput:\n{session.result()}"
            yield line("response_item", type="function_call_output", call_id=call_id, output=output)
            last = _codex_usage(session.spent())
            total = {name: number + last[name] for name, number in total.items()}
            info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": 258_400}
            yield line("event_msg", type="token_count", info=info, rate_limits=None)
        yield line("event_msg", type="task_complete", turn_id=turn_id, last_agent_message=session.text(300))


def _codex_usage(spent: Spent) -> dict[str, int]:
    entered = spent.uncached + spent.cache_write + spent.cache_read
    return {
        "input_tokens": entered,
        "cached_input_tokens": spent.cache_read,
        "output_tokens": spent.output,
        "reasoning_output_tokens": spent.output // 2,
        "total_tokens": entered + spent.output,
    }


def pi(session: Session) -> Iterator[Line]:
    """Yield the entries of a session of Pi, without end."""
    parent: str | None = None

    def entry(kind: str, **fields: object) -> Line:
        nonlocal parent
        before, parent = parent, f"{session.chance.getrandbits(32):08x}"
        return {"type": kind, "id": parent, "parentId": before, "timestamp": session.now(), **fields}

    def message(role: str, content: str, **fields: object) -> Line:
        block = {"type": "text", "text": content}
        return entry("message", message={"role": role, "content": [block], **fields})

    yield {"type": "session", "version": 3, "id": session.id, "timestamp": session.now(), "cwd": FOLDER}
    yield entry("model_change", provider="test", modelId="test-1")
    while True:
        yield message("user", session.text(300))
        for _ in session.steps():
            spent = session.spent()
            usage = {"input": spent.uncached, "output": spent.output, "cacheRead": spent.cache_read}
            usage |= {"cacheWrite": spent.cache_write, "totalTokens": 0}
            reply = {"api": "test", "provider": "test", "model": "test-1", "stopReason": "stop"}
            yield message("assistant", session.text(500), **reply, usage=usage)
            call_id = f"call_{session.new_id()}"
            yield message("toolResult", session.result(), toolCallId=call_id, toolName="bash", isError=False)


def copilot(session: Session) -> Iterator[Line]:
    """Yield the events of a session of Copilot CLI, without end; each turn closes with a shutdown."""
    total = {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    parent: str | None = None

    def event(kind: str, **data: object) -> Line:
        nonlocal parent
        before, parent = parent, session.new_id()
        return {"type": kind, "data": data, "id": parent, "timestamp": session.now(), "parentId": before}

    yield event(
        "session.start",
        sessionId=session.id,
        version=1,
        producer="copilot-agent",
        copilotVersion="1.0.64",
        context={"cwd": FOLDER, "gitRoot": FOLDER, "branch": "main"},
    )
    while True:
        prompt = session.text(300)
        yield event("user.message", content=prompt, transformedContent=prompt, attachments=[])
        for number in session.steps():
            spent = session.spent()
            total["inputTokens"] += spent.uncached + spent.cache_read
            total["outputTokens"] += spent.output
            total["cacheReadTokens"] += spent.cache_read
            call_id = f"call_{session.new_id()}"
            arguments = {"command": session.text(120)}
            yield event("assistant.turn_start", turnId=str(number))
            request = {"toolCallId": call_id, "name": "bash", "arguments": arguments, "type": "function"}
            yield event("assistant.message", content=session.text(300), toolRequests=[request])
            yield event("tool.execution_start", toolCallId=call_id, toolName="bash", arguments=arguments)
            output = session.result()
            result = {"content": output, "detailedContent": output}
            yield event("tool.execution_complete", toolCallId=call_id, success=True, result=result)
            yield event("assistant.turn_end", turnId=str(number))
        metrics = {"test-1": {"requests": {"count": 1, "cost": 1}, "usage": dict(total)}}
        yield event("session.shutdown", shutdownType="routine", modelMetrics=metrics, currentModel="test-1")


def path_of(agent: str, home: Path, session: Session) -> Path:
    """Return where an agent keeps a session."""
    moment = f"{session.at:%Y-%m-%dT%H-%M-%S}"
    match agent:
        case "claude_code":
            return home / ".claude" / "projects" / "-home-dev-project" / f"{session.id}.jsonl"
        case "codex":
            return (
                home
                / ".codex"
                / "sessions"
                / f"{session.at:%Y/%m/%d}"
                / f"rollout-{moment}-{session.id}.jsonl"
            )
        case "pi":
            folder = home / ".pi" / "agent" / "sessions" / "--home-dev-project--"
            return folder / f"{moment}-000Z_{session.id}.jsonl"
        case _:
            return home / ".copilot" / "session-state" / session.id / "events.jsonl"


AGENTS = {"claude_code": claude_code, "codex": codex, "pi": pi, "copilot": copilot}


def write_corpus(home: Path, megabytes: int) -> None:
    """Write sessions of all agents below a home folder, in all about so many MB."""
    chance = random.Random(SEED)  # noqa: S311 - no secret: the same bytes each time
    pool = " ".join(chance.choices(WORDS, k=POOL_CHARACTERS // 5))
    number = 0
    for agent, share in SHARES.items():
        rest = int(megabytes * 1_000_000 * share)
        while rest > 0:
            number += 1
            size = min(rest, int(SESSION_BYTES * chance.uniform(0.2, 1.8)))
            rest -= _write_session(agent, home, Session(chance, pool, number), size)


def _write_session(agent: str, home: Path, session: Session, size: int) -> int:
    path = path_of(agent, home, session)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("wb") as file:
        for line in AGENTS[agent](session):
            written += file.write(as_bytes(line))
            # A shutdown is the last event of a Copilot session: without it no tokens are told.
            if written >= size and (agent != "copilot" or line["type"] == "session.shutdown"):
                return written
    return written


def as_bytes(line: Line) -> bytes:
    """Return a line as these agents write it: compact, characters as they are."""
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
