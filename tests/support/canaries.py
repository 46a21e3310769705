"""A session of Claude Code in which every place that can hold foreign text holds a canary."""

from __future__ import annotations

import json
import sqlite3
from itertools import count
from typing import TYPE_CHECKING

from hook_payloads import payload, step, tool_call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "kanarie"
"""The beginning of every canary: no other text here holds it."""

FAKE_SECRETS = {
    # In parts, so that no scanner takes them for real ones.
    "aws key": "AKIA" + "IOSFODNN7QWERTYU",
    "aws secret": "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYZZTOPKEY",
    "github token": "ghp_" + "x7Kq2Lm9Vb4Nc8Zd1Sf6Gh3Jk5Pq0Rt2Wy4U",
    "github app token": "ghs_" + "Zd1Sf6Gh3Jk5Pq0Rt2Wy4Ux7Kq2Lm9Vb4Nc8",
    "anthropic key": "sk-ant-" + "api03-Zx81kQpL0vYw7Rb2Tn5Jc-Mh4Gf9Sd3Ae6",
    "openai key": "sk-proj-" + "T3BlbkFJx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk",
    "slack token": "xoxb-" + "219384756012-Qz7Xc5Vb3Nm1Lk9Jh",
    "stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "json web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "npm token": "npm_" + "Lk9Jh7Gf5Ds3Aq1Wz2Xe4Rc6Tv8Yb0Un9Im2K",
    "basic password": "tr0ub4dor-and-3",
    "url password": "correct-h0rse",
    "mysql password": "Battery5taple",
    "flag password": "open-5esame-now",
    "variable password": "swordf1sh!",
    "redis password": "r3d1s-pa55",
    "pass phrase": "p4ss-phrase-x",
    "private key": "MIIEpAIBAAKCAQEAr9V" + "kanarieskeyQ2hlY2s",
}

_S = FAKE_SECRETS
SECRET_COMMANDS = (
    f"AWS_ACCESS_KEY_ID={_S['aws key']} AWS_SECRET_ACCESS_KEY={_S['aws secret']} aws s3 ls",
    f"export GITHUB_TOKEN={_S['github token']}; gh pr list",
    f"git clone https://x-access-token:{_S['github app token']}@github.com/team/project.git",
    f"curl -H 'x-api-key: {_S['anthropic key']}' https://api.example.org/v1",
    f'curl -H "Authorization: Bearer {_S["json web token"]}" https://example.org/v1?key={_S["stripe key"]}',
    f"OPENAI_API_KEY={_S['openai key']} python run.py",
    f"slack --token {_S['slack token']} post general",
    f"npm config set //registry.npmjs.org/:_authToken {_S['npm token']}",
    f"curl -u admin:{_S['basic password']} https://example.org",
    f"psql postgres://app:{_S['url password']}@db.example.org/app -c 'select 1'",
    f"mysql -u root -p{_S['mysql password']} shop",
    f"docker login --username app --password {_S['flag password']}",
    f"PGPASSWORD='{_S['variable password']}' psql -h db.example.org",
    f"redis-cli -a {_S['redis password']} ping",
    f"gpg --batch --passphrase {_S['pass phrase']} -d file.gpg",
    (
        "cat > key.pem <<'EOF'\n-----BEGIN RSA PRIVATE KEY-----\n"
        f"{_S['private key']}\n-----END RSA PRIVATE KEY-----\nEOF"
    ),
)


class Canaries:
    """Gives each place a canary of its own."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.planted: list[str] = []

    def __call__(self, place: str) -> str:
        canary = f"{CANARY}{next(self._numbers):03d}x{place.replace(' ', '')}"
        self.planted.append(canary)
        return canary


def quiet_payloads(canary: Canaries, transcript: Path) -> Iterator[bytes]:
    """One payload of every kind, in an order that a session could have."""
    common = {"transcript_path": str(transcript), "permission_mode": "default"}
    yield payload("SessionStart", source="startup", model="claude-opus-4-5", **common)
    yield payload(
        "UserPromptSubmit",
        prompt=f"/review {canary('prompt')}: use Bash\n{canary('second line')}",
        prompt_id="p-1",
    )
    yield payload("PreToolUse", tool_name="Write", tool_input={"content": canary("not stored event")})
    yield step(*_calls(canary), **common)
    yield step(
        *(
            tool_call(f"secret-{n}", "Bash", canary("output"), command=text)
            for n, text in enumerate(SECRET_COMMANDS)
        )
    )
    yield payload(
        "PostToolUse",
        tool_name="Write",
        tool_input={"file_path": "/home/dev/project/x.py", "content": canary("written")},
        tool_response={"type": "update", "originalFile": canary("original"), "content": canary("content")},
        tool_use_id="alone-1",
    )
    yield payload("Notification", message=canary("notification"), title=canary("title"))
    yield payload("SubagentStart", agent_id="agent-1", agent_type="Explore", prompt=canary("sub-agent"))
    yield step(
        tool_call("sub-1", "Grep", canary("found line"), pattern=canary("pattern"), path="src"),
        agent_id="agent-1",
    )
    yield payload(
        "SubagentStop",
        agent_id="agent-1",
        agent_type="Explore",
        last_assistant_message=canary("sub-agent's last message"),
        agent_transcript_path="/home/dev/.claude/projects/project/agent-1.jsonl",
    )
    yield payload("PreCompact", trigger="manual", custom_instructions=canary("compaction instructions"))
    yield payload("PostCompact", trigger="manual", compact_summary=canary("summary"))
    yield payload("Stop", last_assistant_message=canary("last message"), stop_hook_active=False)
    yield payload("StopFailure", error="server_error", error_details=canary("error details"))
    yield payload("SessionEnd", reason="other", session_id="session-2")
    yield payload("UserPromptSubmit", prompt=canary("cut off"))[:-3]
    yield json.dumps([canary("no object")]).encode()
    yield json.dumps({"hook_event_name": "Stop", "text": canary("no session")}).encode()


def _calls(canary: Canaries) -> list[dict[str, object]]:
    shell = [
        f"cat > a.py <<'EOF'\nx = '{canary('heredoc')}'\nEOF",
        f"python -c 'print(\"{canary('inline code')}\")'",
        f'bash -c "python3 - <<EOF\n{canary("nested heredoc")}\nEOF"',
        f"git commit -m '{canary('message')} and more' -m \"{canary('body')} of it\"",
        f"echo {canary('echoed')} | tee out.txt",
        f'echo "{canary("echoed text")}" >> notes.md',
        f"grep -rn '{canary('search')}' src",
        f"sed -i 's/{canary('old')}/{canary('new')}/' a.py",
        f"node -e 'console.log(`{canary('script')}`)'",
        f"psql -c \"insert into t values ('{canary('statement')}')\"",
        f'curl -d \'{{"a": "{canary("body of a request")}"}}\' https://example.org/x?q={canary("query")}',
        f"cat <<< '{canary('here string')}'",
        f"pytest -k visible_name # {canary('comment')}",
    ]
    calls = [
        tool_call(
            f"shell-{number}",
            "Bash",
            canary("output of a command"),
            command=command,
            description=canary("why"),
        )
        for number, command in enumerate(shell)
    ]
    folder = f"/home/dev/project/{canary('folder')}"
    patch = [{"lines": [f"-{canary('patch')}"]}]
    edited = {"oldString": canary("old in result"), "originalFile": canary("file"), "structuredPatch": patch}
    file = {"type": "text", "file": {"filePath": "a.py", "content": canary("file content"), "numLines": 1}}
    streams = {"stdout": canary("stdout"), "stderr": canary("stderr"), "interrupted": False}
    blocks = [{"type": "text", "text": canary("text of an MCP result")}]
    todo = [{"content": canary("todo"), "status": "pending"}]
    calls += [
        tool_call(
            "w", "Write", "ok", file_path=f"{folder}/visible_name.py", content=canary("content to write")
        ),
        tool_call(
            "e",
            "Edit",
            edited,
            file_path="a.py",
            old_string=canary("old string"),
            new_string=canary("new string"),
        ),
        tool_call(
            "m",
            "MultiEdit",
            "ok",
            file_path="a.py",
            edits=[{"old_string": canary("a"), "new_string": canary("b")}],
        ),
        tool_call("n", "NotebookEdit", "ok", notebook_path="a.ipynb", new_source=canary("cell")),
        tool_call("r", "Read", file, file_path=f"{folder}/a.py"),
        tool_call("b", "Bash", streams, command="make test"),
        tool_call("g", "Glob", canary("names"), pattern=f"**/{canary('glob')}*"),
        tool_call(
            "x", "mcp__tracker__create", blocks, title=canary("MCP input"), nested={"deep": [canary("deep")]}
        ),
        tool_call(
            "f", "WebFetch", canary("page"), url="https://example.org/a", prompt=canary("question to a page")
        ),
        tool_call("q", "WebSearch", canary("results"), query=canary("web search")),
        tool_call(
            "t",
            "Task",
            blocks,
            prompt=canary("task"),
            description=canary("task title"),
            subagent_type="Explore",
        ),
        tool_call("l", "TodoWrite", canary("list"), todos=todo),
        tool_call(
            "d",
            "BrandNewTool",
            {"anything": canary("unknown result")},
            **{canary("argument"): canary("value")},
        ),
        tool_call("z", "Read", f"<tool_use_error>{canary('refusal')}</tool_use_error>", file_path="a.py"),
    ]
    return calls


def failing_steps(canary: Canaries, steps: int) -> Iterator[bytes]:
    """The same failing call again and again."""
    command = f"python -m unittest 2>&1 | tee '{canary('quoted file')} log'"
    error = (
        f"Exit code 1\n{canary('first line')}\nTraceback (most recent call last):\n"
        f'  File "/home/dev/project/a.py", line 3, in {canary("function")}\n    {canary("source line")}\n'
        f"ValueError: {canary('message of an error')}\nAssertionError: assert {canary('assertion')} == 3"
    )
    for number in range(steps):
        call_id = f"failing-{number}"
        yield payload(
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input={"command": command, "description": canary("description")},
            tool_use_id=call_id,
            error=error,
            is_interrupt=False,
        )
        yield step(tool_call(call_id, "Bash", error, command=command))


def found_in(folder: Path, needles: list[str]) -> list[tuple[str, str]]:
    """Every file, and every row of every database, in which one of these stands."""
    small = [needle.lower() for needle in needles]
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            texts = [path.read_bytes().decode("utf-8", "replace").lower(), _rows_of(path).lower()]
            found += [(path.name, needle) for needle in small if any(needle in text for text in texts)]
    return found


def _rows_of(path: Path) -> str:
    # In the file a long value lies in pieces; `-wal` and `-shm` are read together with their database.
    if path.suffix != ".db":
        return ""
    connection = sqlite3.connect(path)
    try:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return "\n".join(
            value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            for (table,) in tables
            for row in connection.execute(f'SELECT * FROM "{table}"')
            for value in row
        )
    finally:
        connection.close()
