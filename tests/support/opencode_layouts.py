"""Small sessions of opencode, written down in each of its forms."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BEGAN = 1_790_000_000_000
"""When the sessions here begin, in milliseconds."""

SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, version text NOT NULL,
  time_created integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  data text NOT NULL);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
"""

Json = dict[str, Any]


def user(at: int, *parts: Json | str, **fields: object) -> Json:
    """Return a user's message, `at` milliseconds after the session's begin; texts are parts."""
    info = {"id": f"msg_{at:04}", "role": "user", "time": {"created": BEGAN + at}, **fields}
    return {"info": info, "parts": [says(part) if isinstance(part, str) else part for part in parts]}


def reply(at: int, *parts: Json | str, finish: str | None = "stop", **fields: object) -> Json:
    """Return a complete reply of the model with 10 tokens in, 5 out and 100 cached."""
    info = {
        "id": f"msg_{at:04}",
        "role": "assistant",
        "agent": "build",
        "parentID": "msg_0001",
        "path": {"cwd": "/home/dev/project", "root": "/home/dev/project"},
        "tokens": tokens(),
        "modelID": "model-1",
        "providerID": "lab",
        "time": {"created": BEGAN + at, "completed": BEGAN + at + 1},
        **({"finish": finish} if finish else {}),
        **fields,
    }
    return {"info": info, "parts": [says(part) if isinstance(part, str) else part for part in parts]}


def tokens(**changed: object) -> Json:
    """Return the tokens of a reply."""
    cache = {"read": 100, "write": 0}
    return {"total": 115, "input": 10, "output": 5, "reasoning": 0, "cache": cache, **changed}


def says(text: str, **fields: object) -> Json:
    """Return a part with a text."""
    return {"type": "text", "text": text, **fields}


def tool(name: str, call_id: str, status: str = "completed", **state: object) -> Json:
    """Return a part with a call that took 5 ms."""
    whole = {"status": status, "input": {}, "time": {"start": BEGAN + 10, "end": BEGAN + 15}, **state}
    return {"type": "tool", "tool": name, "callID": call_id, "state": whole}


def document(*messages: Json, session_id: str = "ses_1", **fields: object) -> Json:
    """Return a session as `opencode export` tells it; each message and part gets its ids."""
    for message in messages:
        message["info"]["sessionID"] = session_id
        for number, part in enumerate(message["parts"]):
            part.update(id=f"prt_{message['info']['id']}_{number:03}", messageID=message["info"]["id"])
    info = {
        "id": session_id,
        "directory": "/home/dev/project",
        "version": "1.18.33",
        "time": {"created": BEGAN},
        **fields,
    }
    return {"info": info, "messages": list(messages)}


def write_export(path: Path, session: Json, *, layout: str = "pretty") -> Path:
    """Write an export, pretty-printed or with a message a line."""
    if layout == "pretty":
        path.write_text(json.dumps(session, indent=2))
    else:
        lines = ",\n".join(json.dumps(message, separators=(",", ":")) for message in session["messages"])
        path.write_text(f'{{"info":{json.dumps(session["info"])},"messages":[\n{lines}\n]}}\n')
    return path


def write_storage(storage: Path, *sessions: Json) -> None:
    """Write sessions as the older versions kept them."""
    for session in sessions:
        session_id = session["info"]["id"]
        _write(storage / "session" / "project" / f"{session_id}.json", session["info"])
        for message in session["messages"]:
            write_message(storage, session_id, message)


def write_message(storage: Path, session_id: str, message: Json) -> None:
    """Write one message, and its parts, anew."""
    info = message["info"]
    for part in message["parts"]:
        _write(storage / "part" / info["id"] / f"{part['id']}.json", part)
    _write(storage / "message" / session_id / f"{info['id']}.json", info)


def _write(path: Path, value: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))


def write_database(path: Path, *sessions: Json) -> Path:
    """Make a database in WAL mode that nobody has open."""
    with closing(open_database(path)) as database:
        for session in sessions:
            insert(database, session, session["messages"])
    return path


def open_database(path: Path) -> sqlite3.Connection:
    """Open, or make, a database as the agent does: as long as it is open, the newest rows are in its WAL."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=OFF")
    if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        database.executescript(SCHEMA)
    return database


def insert(database: sqlite3.Connection, session: Json, messages: Iterable[Json]) -> None:
    """Write messages of a session, or write them anew."""
    info = session["info"]
    database.execute(
        "INSERT OR IGNORE INTO session VALUES (?, ?, ?, ?, ?)",
        (info["id"], info.get("parentID"), info["directory"], info["version"], info["time"]["created"]),
    )
    for message in messages:
        data = {name: value for name, value in message["info"].items() if name not in {"id", "sessionID"}}
        created, message_id = message["info"]["time"]["created"], message["info"]["id"]
        database.execute(
            "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)"
            " ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = time_updated + 1",
            (message_id, info["id"], created, json.dumps(data)),
        )
        for part in message["parts"]:
            kept = {name: value for name, value in part.items() if name not in {"id", "messageID"}}
            database.execute(
                "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)",
                (part["id"], message_id, info["id"], json.dumps(kept)),
            )
