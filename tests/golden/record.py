"""
Records the golden log of the current store schema: `python tests/golden/record.py`.

It is made once for each schema, holds every kind of event, and is never made again: later programs must go on
reading what this one stored. A view whose schema was raised gets a further checksum, beside the old ones.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from event_samples import event_classes  # noqa: E402 - found by the line above
from golden import checksums_of, golden_checksums, golden_log, write_store  # noqa: E402
from sessions import Telling, edit, shell  # noqa: E402

from tokeneconomizer.domain.commands import (  # noqa: E402
    Compact,
    EndSession,
    PromptKind,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.guard.limits import Limits  # noqa: E402
from tokeneconomizer.domain.imported import start  # noqa: E402
from tokeneconomizer.domain.microskills import Microskills  # noqa: E402
from tokeneconomizer.domain.session import Session  # noqa: E402
from tokeneconomizer.domain.setup import Setup  # noqa: E402
from tokeneconomizer.domain.tool_prune import ToolPrune  # noqa: E402
from tokeneconomizer.domain.usage import Usage  # noqa: E402
from tokeneconomizer.scheduler.store import STORE_SCHEMA, EventStore  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from eventsourcing.domain import Aggregate, AggregateEvent, CanMutateAggregate

    Event = CanMutateAggregate[UUID]

HOST = "claude_code"
REPOSITORY = "example.org/team/project"
CHECKOUT = "/home/dev/project"
BEGIN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
BLOCK = "- Run the tests with `.venv/bin/python -m pytest -q`: `pytest` alone is not found.\n"
SNAPSHOT = (
    '{"entries":{"rules":{"detail":"CLAUDE.md","source":"workspace/CLAUDE.md","tokens":93},'
    '"tools":{"detail":"Bash × 3","source":"tool_use/tool/Bash","tokens":48}},'
    '"producedBy":"claude_code","unsupported":["system_prompt","memory","files_attachments"]}'
)
CIRCLING = "3f0c9a52-7d1e-4b7a-9a55-0d9f6f2c1b11"
SHOWN = (
    '[{"duration_ms":900,"edits":1,"folder":"","head":"./x world","is_whole":true,"key":"x world",'
    '"outcome":"worked","place":8,"position":12,"purpose":"build","rest":"world","script":"./x",'
    '"text":"./x world","turn":1,"variables":[]}]'
)
CATALOG = '[{"characters":1200,"loaded":true,"name":"WebSearch","server":""}]'


def circling_session() -> Iterator[Event]:
    """A session that fails in circles, is redirected and hinted, goes on, and ends."""
    telling = Telling(SessionKey(HOST, CIRCLING))
    telling.tell(StartSession("startup", model="claude-sonnet-4-5"))
    telling.tell(
        SubmitPrompt(
            "prompt-1", "use WebSearch, then mend it", PromptKind.HUMAN, ("WebSearch",), ("release",)
        )
    )
    telling.step(edit("src/total.py", "return 1"), edit("src/other.py", "x", error="The user denied it."))
    for _ in range(10):
        telling.step(shell("make check", "make: *** No rule to make target 'check'.  Stop.", failed=True))
    telling.stop()
    telling.prompt("and now", PromptKind.MACHINE)
    calls = (shell("ls src", "total.py", call_id="toolu_a"), shell("cat x", "return 1", call_id="toolu_b"))
    for call in calls:
        telling.step(call, whole_step=False)
    telling.step(*calls)
    telling.step(shell("python -m pytest -q", "1 passed in 0.02s"))
    telling.tell(Compact("auto", 4_200))
    telling.stop()
    telling.tell(StartSession("resume", "", "", 4_000.5, 81_000, cache_expired=True))
    telling.tell(EndSession("prompt_input_exit"))
    yield from telling.events
    session = telling.session
    assert session is not None
    said = telling.of("redirected")[0]
    yield from more(
        session,
        telling.at,
        (Session.FactsInjected, {"text": BLOCK, "block_version": 2}),
        (Session.GateFired, {"turn": 2, "measure": "calls", "value": 41.0, "limit": 36.5}),
        (Session.JudgeAsked, {"turn": 2, "side_call_id": "side-1", "digest_characters": 1_800}),
        (
            Session.VerdictGiven,
            {"turn": 2, "side_call_id": "side-1", "verdict": "stuck", "confidence": 0.8, "model": "haiku"},
        ),
        (
            Session.DeliveryFailed,
            {
                "failed_topic": said.TOPIC,
                "failed_version": said.originator_version,
                "reason": "the hook client did not confirm",
            },
        ),
        (
            Session.ContextAccounted,
            {"turn": 2, "snapshot": SNAPSHOT, "used_tokens": 81_000, "window_tokens": 200_000},
        ),
        (Session.SessionArchived, {"reason": "silence"}),
        delivery_id="9d1f",
    )


def sub_agent() -> Iterator[Event]:
    """A sub-agent of that session, in a stream of its own."""
    telling = Telling(SessionKey(HOST, CIRCLING, "agent-1"))
    telling.tell(StartSession("startup", agent_type="Explore"))
    telling.step(shell("rg total", "src/total.py:1:return 1"))
    telling.tell(EndSession("done"))
    yield from telling.events


def imported_session() -> Iterator[Event]:
    """A session of another agent from before it was watched, taken from the agent's own log."""
    key = SessionKey("codex", "7b1e2a64-5c3d-4f80-8a21-6e0d9c4b7f35")
    session = start(
        key,
        BEGIN,
        delivery_id="",
        parent="",
        agent_type="",
        repository=REPOSITORY,
        checkout=CHECKOUT,
        model="",
        content_hash="",
        limits=Limits().to_json(),
    )
    telling = Telling(key, session=session)
    telling.prompt()
    telling.step(shell("python -m pytest -q", "1 failed in 0.03s", failed=True))
    telling.stop()
    yield from telling.events
    snapshot = SNAPSHOT.replace("claude_code", "codex_runtime")
    accounted = {"turn": 1, "snapshot": snapshot, "used_tokens": None, "window_tokens": 258_400}
    yield from more(session, telling.at, (Session.ContextAccounted, accounted), delivery_id="")


def usage() -> Iterator[Event]:
    """What two replies cost; of the second the log does not tell all."""
    session_id = CIRCLING
    reply = {
        "message_id": "msg_01",
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "input_tokens": 12,
        "output_tokens": 431,
        "cache_read_tokens": 18_204,
        "cache_write_5m_tokens": 1_022,
        "cache_write_1h_tokens": 0,
        "reasoning_tokens": None,
        "sub_agent": "",
    }
    unknown = {name: None for name in reply if name.endswith("_tokens")}
    yield from stream(
        Usage,
        Usage.create_id(HOST, session_id),
        {"host": HOST, "session_id": session_id, "repository": REPOSITORY},
        (Usage.Recorded, reply),
        (Usage.Recorded, {**reply, "message_id": "msg_02", **unknown, "sub_agent": "agent-1"}),
    )


def microskills() -> Iterator[Event]:
    """A repository's facts: rendered, pinned, retired, proposed, and linked with another identity."""
    facts = '[{"evidence":[12,31],"fact_id":"tests-1","text":"run the tests with .venv/bin/python"}]'
    yield from stream(
        Microskills,
        Microskills.create_id(REPOSITORY),
        {"repository": REPOSITORY},
        (Microskills.BlockRendered, {"text": BLOCK, "facts": facts, "log_position": 31, "rule_version": 1}),
        (Microskills.FactPinned, {"fact_id": "tests-1"}),
        (Microskills.FactRetiredByUser, {"fact_id": "lint-2"}),
        (
            Microskills.FactProposed,
            {
                "fact_id": "build-3",
                "text": "Build with `./x world`.",
                "side_call_id": Session.stream_id(SessionKey(HOST, CIRCLING)).hex,
                "purpose": "build",
                "command": "./x world",
                "instead_of": "",
                "shown": SHOWN,
            },
        ),
        (Microskills.IdentityLinked, {"other_repository": CHECKOUT}),
    )


def tool_prune() -> Iterator[Event]:
    """A checkout's deny list, from the catalogue to what was taken back."""
    names = {"names": ["NotebookEdit", "WebSearch"]}
    file = {**names, "file": ".claude/settings.local.json"}
    evidence = '{"NotebookEdit":{"prompts":22,"sessions":4},"WebSearch":{"prompts":19,"sessions":3}}'
    yield from stream(
        ToolPrune,
        ToolPrune.create_id(HOST, CHECKOUT),
        {"host": HOST, "repository": REPOSITORY, "checkout": CHECKOUT},
        (ToolPrune.CatalogRecorded, {"agent_version": "2.1.0", "catalog": CATALOG}),
        (ToolPrune.PruneProposed, {**names, "evidence": evidence, "limits": '{"min_prompts":10}'}),
        (ToolPrune.DenyListPended, {**names, "approved_by": "user"}),
        (ToolPrune.DenyListRefused, {**file, "reason": "tracked", "detail": "git tracks the file"}),
        (ToolPrune.DenyListWritten, {**file, "overridden": False, "idle_ms": 3_780_000}),
        (ToolPrune.DenyListRestored, {**file}),
    )


def setup() -> Iterator[Event]:
    """An agent's installation, a side call, and policies set and removed."""
    files = ["~/.claude/settings.json"]
    policy = {"key": "guard.failed_repeats", "repository": REPOSITORY}
    yield from stream(
        Setup,
        Setup.create_id(HOST),
        {"host": HOST},
        (
            Setup.Changed,
            {"action": "install", "files": files, "program_version": "0.1.0", "agent_version": "2.1.0"},
        ),
        (
            Setup.SideCallMade,
            {
                "side_call_id": "side-1",
                "purpose": "judge",
                "model": "haiku",
                "sent_characters": 1_800,
                "cost_usd": 0.0021,
            },
        ),
        (Setup.PolicySet, {**policy, "value": "5"}),
        (Setup.PolicySet, {**policy, "value": "null"}),
    )


def stream(
    kind: type[Aggregate],
    stream_id: UUID,
    about: dict[str, object],
    *happened: tuple[type[AggregateEvent], dict[str, object]],
) -> Iterator[Event]:
    """Tell a whole stream."""
    created: type = vars(kind)["Created"]
    aggregate = kind._create(created, id=stream_id, timestamp=BEGIN, **about)  # noqa: SLF001 - the library's way
    yield from aggregate.collect_events()
    yield from more(aggregate, BEGIN, *happened)


def more(
    aggregate: Aggregate,
    at: datetime,
    *happened: tuple[type[AggregateEvent], dict[str, object]],
    **common: object,
) -> Iterator[Event]:
    """Let further events happen, ten seconds apart."""
    for number, (event, fields) in enumerate(happened, 1):
        moment = at + timedelta(seconds=10 * number, microseconds=number)
        aggregate.trigger_event(event, timestamp=moment, **common, **fields)
    yield from aggregate.collect_events()


def recorded() -> list[dict[str, object]]:
    """Store all of it as the program does, and return the rows."""
    tellings = (setup, circling_session, sub_agent, imported_session, usage, microskills, tool_prune)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.db"
        store = EventStore(path, b"a key for tests")
        for telling in tellings:
            store.recorder.insert_events([store.mapper.to_stored_event(event) for event in telling()])
        store.close()
        with closing(sqlite3.connect(path)) as connection:
            columns = "rowid, originator_id, originator_version, topic, CAST(state AS TEXT)"
            rows = connection.execute(f"SELECT {columns} FROM stored_events ORDER BY rowid").fetchall()
    names = ("rowid", "originator_id", "originator_version", "topic", "state")
    return [dict(zip(names, row, strict=True)) for row in rows]


def main() -> None:
    """Write what is not there yet."""
    log = golden_log(STORE_SCHEMA)
    if log.exists():
        print(f"{log.name} is there and stays as it is")  # noqa: T201 - its output
    else:
        rows = recorded()
        missing = set(event_classes()) - {str(row["topic"]) for row in rows}
        if missing:
            sys.exit(f"no event of {', '.join(sorted(missing))} was recorded: let one happen in {__file__}")
        log.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    for schema in range(1, STORE_SCHEMA + 1):
        kept = golden_checksums(schema)
        with tempfile.TemporaryDirectory() as folder:
            found = checksums_of(write_store(Path(folder) / "events.db", schema), Path(folder))
        if not found.keys() <= kept.keys():
            path = HERE / f"schema-{schema}.checksums.json"
            path.write_text(json.dumps({**found, **kept}, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
