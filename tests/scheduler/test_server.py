"""The daemon's socket, spoken to by the hook client itself and by whoever else may call."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from eventsourcing.persistence import OperationalError
from workbench import FailingStore, Workbench, rows_of, spooled_file

from tokeneconomizer.domain.guard.limits import FAILED_REPEATS
from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler import server
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.hook_calls import HookReply
from tokeneconomizer.scheduler.live_calls import LiveCalls
from tokeneconomizer.scheduler.server import SOCKET_NAME, Server, Speaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

LAUNCHER = Path(__file__).resolve().parents[2] / "hosts" / "hook" / "launcher.py"
PATIENCE_S = 30
"""Long enough for a loaded machine; a test that works never waits for it."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]

LONG = "a folder with a long name " * 8
VERSION = "9.8.7"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    home = Home(tmp_path / LONG)
    with Workbench(home) as bench:
        monkeypatch.chdir(home.root)
        assert len(str(home.socket)) > 150
        yield bench


@dataclass
class Serving:
    """A server under test, with what it handed on."""

    bench: Workbench
    environments: dict[str, Mapping[str, str]] = field(default_factory=dict)
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    answered: int = 0

    def control(self, kind: str, payload: bytes) -> bytes:
        self.asked.append((kind, payload))
        return b'{"kind": "%s"}' % kind.encode()

    def after(self) -> None:
        self.answered += 1

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        speaker = Speaker(
            version=VERSION,
            calls=self.bench.live,
            control=self.control,
            keep_environment=self.environments.__setitem__,
            after=self.after,
        )
        listening = await Server(speaker, self.bench.log).listen()
        try:
            yield
        finally:
            listening.close()
            await listening.wait_closed()


def served(bench: Workbench, talk: Callable[[Serving], Awaitable[None]]) -> Serving:
    """Serve while a conversation lasts."""
    serving = Serving(bench)

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), serving.listening():
            await talk(serving)

    asyncio.run(run())
    return serving


async def until(holds: Callable[[], bool]) -> None:
    """Let the server go on until something holds; the caller's time limit ends a wait in vain."""
    while not holds():  # noqa: ASYNC110 - the server tells nobody when it is through
        await asyncio.sleep(0)


def request(payload: bytes, kind: str = "hook", event: str = "-", environment: bytes = b"") -> bytes:
    return wire.encode_request(
        kind,
        host="claude_code",
        event=event,
        via="plugin",
        time_ns=1_767_614_400_000_000_000,
        delivery_id=secrets.token_hex(16),
        environment=environment,
        payload=payload,
    )


async def ask(data: bytes, *, then: bytes = b"") -> bytes:
    """Send a request, read the reply to its end, say what comes then, and hang up."""
    reader, writer = await asyncio.open_unix_connection(SOCKET_NAME)
    writer.write(data)
    reply = b""
    line = await reader.readline()
    if line:
        reply = await reader.readexactly(wire.parse_reply_header(line).reply_length)
        writer.write(then)
    writer.close()
    await writer.wait_closed()
    return reply


async def te_hook(
    event: str, payload: bytes, home: Path, **variables: str
) -> tuple[int | None, bytes, bytes]:
    """Run the real hook client as an agent does."""
    flags = ["--host", "claude_code", "--event", event, "--via", "plugin"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(LAUNCHER), *flags,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath, "HOME": str(home.parent), "TOKENECONOMIZER_HOME": str(home), **variables},
    )  # fmt: skip
    out, err = await process.communicate(payload)
    return process.returncode, out, err


def test_the_hook_client_gets_the_reply_and_confirms_it(bench: Workbench) -> None:
    async def talk(serving: Serving) -> None:
        home = bench.home.root
        for number in range(1, FAILED_REPEATS + 1):
            failure, step = hooks.failing_step(f"call-{number}")
            assert await te_hook("PostToolUseFailure", failure, home) == (0, b"{}", b"")
            status, out, err = await te_hook("PostToolBatch", step, home)
        reply = json.loads(out)["hookSpecificOutput"]
        assert (status, err) == (0, b"")
        assert reply["hookEventName"] == "PostToolBatch"
        assert "`python -m unittest` has failed 3 times" in reply["additionalContext"]
        await until(lambda: serving.answered == 2 * FAILED_REPEATS)

    served(bench, talk)
    assert bench.topics().count("redirected") == 1
    assert "delivery_failed" not in bench.topics()
    assert bench.warnings() == []
    assert not list(bench.home.spool.iterdir())


def test_the_environment_of_a_session_start_is_handed_on_and_stays_off_the_disk(bench: Workbench) -> None:
    async def talk(_serving: Serving) -> None:
        start = hooks.payload("SessionStart", source="startup")
        await te_hook("SessionStart", start, bench.home.root, ANTHROPIC_API_KEY="a key")

    serving = served(bench, talk)
    assert serving.environments["claude_code"]["ANTHROPIC_API_KEY"] == "a key"
    assert bench.topics() == ["started"]
    files = [path for path in bench.home.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"a key" in path.read_bytes()]


def redirecting(bench: Workbench) -> bytes:
    """Bring the session to one call before its redirect, and return the request that gets it."""
    steps = [payload for number in range(FAILED_REPEATS) for payload in hooks.failing_step(f"call-{number}")]
    for payload in steps[:-1]:
        bench.call(payload)
    return request(steps[-1])


@pytest.mark.parametrize("then", [b"", b"-", b"x"])
def test_a_reply_that_was_not_confirmed_is_taken_back_and_said_again(bench: Workbench, then: bytes) -> None:
    asked = redirecting(bench)
    replies: list[bytes] = []

    async def talk(serving: Serving) -> None:
        replies.append(await ask(asked, then=then))
        await until(lambda: serving.answered == 1)
        again = hooks.step(hooks.tool_call("call-10", "Bash", "a b", command="ls"))
        replies.append(await ask(request(again), then=wire.CONFIRMATION))
        await until(lambda: serving.answered == 2)

    served(bench, talk)
    assert b"has failed 3 times" in replies[0]
    assert replies[1] == replies[0]
    kinds = [topic for topic in bench.topics() if topic in {"redirected", "delivery_failed"}]
    assert kinds == ["redirected", "delivery_failed", "redirected"]


def test_a_client_that_neither_confirms_nor_hangs_up_is_waited_for_a_while(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CONFIRMATION_S_MAX", 0.01)
    asked = redirecting(bench)

    async def talk(serving: Serving) -> None:
        reader, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        writer.write(asked)
        await reader.readline()
        await until(lambda: serving.answered == 1)
        writer.close()

    served(bench, talk)
    assert bench.topics()[-1] == "delivery_failed"


def test_a_silent_reply_waits_for_no_confirmation(bench: Workbench) -> None:
    async def talk(serving: Serving) -> None:
        reader, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        writer.write(request(hooks.prompt("go on")))
        assert await reader.read() == b"TE1 9.8.7 2\n{}"
        assert serving.answered == 1
        writer.close()

    served(bench, talk)


GARBAGE = [
    b"\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"TE2 hook - - - 1 " + b"0" * 32 + b" 0 0\n",
    b"TE1 hook - - - 1 " + b"0" * 32 + b" 0 99999999\n",
    b"TE1 unheard - - - 1 " + b"0" * 32 + b" 0 0\n",
    b"x" * 200_000,
    bytes(range(256)) + b"\n",
    request(b"{}", environment=b"no equals sign"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_gets_no_reply_and_disturbs_nobody(bench: Workbench, garbage: bytes) -> None:
    async def talk(_serving: Serving) -> None:
        reader, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        writer.write(garbage)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        assert await ask(request(hooks.prompt("go on"))) == b"{}"

    served(bench, talk)
    assert bench.topics() == ["started", "prompt_submitted"]
    assert len(bench.warnings()) == 1


@pytest.mark.parametrize("sent", [0, 10, 120, -1])
def test_a_client_that_hangs_or_leaves_in_the_middle_disturbs_nobody(bench: Workbench, sent: int) -> None:
    whole = request(hooks.prompt("never came"))

    async def talk(_serving: Serving) -> None:
        _, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        writer.write(whole[:sent])
        replies = await asyncio.gather(*(ask(request(hooks.prompt(f"prompt {n}"))) for n in range(5)))
        assert replies == [b"{}"] * 5
        writer.close()
        await until(lambda: "request incomplete" in bench.warnings())

    served(bench, talk)
    assert bench.topics().count("prompt_submitted") == 5


def test_a_client_that_sends_nothing_is_hung_up_on(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_S_MAX", 0.01)

    async def talk(_serving: Serving) -> None:
        reader, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        assert await reader.read() == b""
        writer.close()

    served(bench, talk)
    assert bench.warnings() == ["request incomplete"]


def test_a_client_that_leaves_before_its_reply_has_its_call_stored(bench: Workbench) -> None:
    async def talk(serving: Serving) -> None:
        _, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        writer.write(request(hooks.prompt("go on")))
        writer.close()
        await until(lambda: serving.answered == 1)

    served(bench, talk)
    assert bench.topics() == ["started", "prompt_submitted"]


@pytest.mark.parametrize(("event", "reply"), [("PostToolBatch", b"{}"), ("PreCompact", b"")])
def test_a_payload_that_was_too_large_to_send_is_answered_and_logged(
    bench: Workbench, event: str, reply: bytes
) -> None:
    async def talk(_serving: Serving) -> None:
        assert await ask(request(b"", kind="oversize", event=event)) == reply

    served(bench, talk)
    assert bench.topics() == []
    assert bench.warnings() == ["payload too large"]


def test_a_payload_of_the_largest_size_arrives_whole(bench: Workbench) -> None:
    text = "x" * (wire.PAYLOAD_BYTES_MAX - len(hooks.prompt("")))

    async def talk(_serving: Serving) -> None:
        assert await ask(request(hooks.prompt(text))) == b"{}"

    served(bench, talk)
    assert bench.topics() == ["started", "prompt_submitted"]


@pytest.mark.parametrize("kind", ["status", "stop", "command"])
def test_what_te_asks_is_handed_to_the_daemon(bench: Workbench, kind: str) -> None:
    async def talk(_serving: Serving) -> None:
        assert json.loads(await ask(request(b'{"name": "x"}', kind=kind))) == {"kind": kind}

    serving = served(bench, talk)
    assert serving.asked == [(kind, b'{"name": "x"}')]
    assert serving.answered == 1


def test_what_waits_in_the_spool_is_stored_before_a_live_call(bench: Workbench) -> None:
    spooled_file(bench.home, hooks.prompt("spooled", prompt_id="first"), time_ns=bench.time_ns)

    async def talk(_serving: Serving) -> None:
        await ask(request(hooks.payload("Stop")))

    served(bench, talk)
    assert bench.topics() == ["started", "prompt_submitted", "turn_ended"]


def test_while_the_store_fails_no_reply_is_given_so_that_the_hook_client_spools(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FailingStore(bench, monkeypatch, OperationalError("disk I/O error"))

    async def talk(_serving: Serving) -> None:
        # Nobody knows yet; it is kept, and stored in its turn.
        assert await ask(request(hooks.prompt("raw", prompt_id="kept"))) == b"{}"
        assert await ask(request(hooks.prompt("raw", prompt_id="refused"))) == b""
        spooled = hooks.prompt("through the client", prompt_id="spooled")
        assert await te_hook("UserPromptSubmit", spooled, bench.home.root) == (0, b"{}", b"")
        store.is_on = False
        assert await ask(request(hooks.payload("Stop"))) == b"{}"

    served(bench, talk)
    prompts = rows_of(
        bench.home.events,
        "SELECT json_extract(CAST(state AS TEXT), '$.prompt_id') FROM stored_events "
        "WHERE topic = 'session.prompt_submitted' ORDER BY rowid",
    )
    assert prompts == [("kept",), ("spooled",)]
    assert bench.topics()[-1] == "turn_ended"
    assert set(bench.warnings()) == {"request failed"}
    assert bench.live.waiting() == 0


def test_a_stale_socket_is_replaced(bench: Workbench) -> None:
    async def talk(_serving: Serving) -> None:
        assert await ask(request(hooks.prompt("go on"))) == b"{}"

    served(bench, talk)
    assert bench.home.socket.exists()
    served(bench, talk)


async def say(stream: Stream, payload: bytes, *, then: bytes = b"") -> bytes:
    """Ask on a bridge's connection; `then` goes with the next request."""
    reader, writer = stream
    writer.write(request(payload, kind="bridge"))
    line = await reader.readline()
    reply = await reader.readexactly(wire.parse_reply_header(line).reply_length) if line else b""
    writer.write(then)
    return reply


def test_a_bridge_asks_again_and_again_on_its_connection(bench: Workbench) -> None:
    steps = [payload for number in range(FAILED_REPEATS + 1) for payload in hooks.failing_step(f"c-{number}")]

    async def talk(serving: Serving) -> None:
        stream = await asyncio.open_unix_connection(SOCKET_NAME)
        replies = [await say(stream, payload) for payload in steps[: 2 * FAILED_REPEATS - 1]]
        assert set(replies) == {b"{}"}
        redirect = await say(stream, steps[2 * FAILED_REPEATS - 1], then=wire.CONFIRMATION)
        assert b"has failed 3 times" in redirect
        assert await say(stream, steps[2 * FAILED_REPEATS]) == b"{}"
        await until(lambda: serving.answered == 2 * FAILED_REPEATS + 1)
        stream[1].close()

    served(bench, talk)
    assert bench.topics().count("redirected") == 1
    assert "delivery_failed" not in bench.topics()
    assert bench.warnings() == []


def test_a_bridge_that_does_not_confirm_is_hung_up_on_and_told_again(bench: Workbench) -> None:
    asked = redirecting(bench).replace(b"TE1 hook", b"TE1 bridge")

    async def talk(_serving: Serving) -> None:
        reader, writer = await asyncio.open_unix_connection(SOCKET_NAME)
        writer.write(asked)
        await reader.readline()
        writer.write(request(hooks.prompt("too soon"), kind="bridge"))
        assert (await reader.read()).endswith(b"}")
        writer.close()

    served(bench, talk)
    assert bench.topics()[-1] == "delivery_failed"


def test_a_bridge_confirms_also_what_stands_for_no_event(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = HookReply(b'{"context": "as at its start"}', speaks=True)
    monkeypatch.setattr(LiveCalls, "answer", lambda _calls, _call: again)

    async def talk(_serving: Serving) -> None:
        stream = await asyncio.open_unix_connection(SOCKET_NAME)
        for _ in range(2):
            assert await say(stream, hooks.prompt("go on"), then=wire.CONFIRMATION) == again.data
        stream[1].close()

    served(bench, talk)
    assert bench.warnings() == []


def test_a_kept_connection_that_says_nothing_keeps_nobody_waiting(bench: Workbench) -> None:
    async def talk(_serving: Serving) -> None:
        streams = [await asyncio.open_unix_connection(SOCKET_NAME) for _ in range(3)]
        for number, stream in enumerate(streams):
            assert await say(stream, hooks.prompt(f"bridge {number}")) == b"{}"
        assert await ask(request(hooks.prompt("a hook's"))) == b"{}"
        assert await say(streams[0], hooks.prompt("once more")) == b"{}"
        for _, writer in streams:
            writer.close()

    served(bench, talk)
    assert bench.topics().count("prompt_submitted") == 5
    assert bench.warnings() == []


def test_the_end_of_the_server_hangs_up_on_kept_connections(bench: Workbench) -> None:
    streams: list[Stream] = []

    async def talk(_serving: Serving) -> None:
        streams.append(await asyncio.open_unix_connection(SOCKET_NAME))
        await say(streams[0], hooks.prompt("go on"))

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            async with Serving(bench).listening():
                await talk(Serving(bench))
            reader, writer = streams[0]
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

    asyncio.run(run())


def test_beyond_so_many_bridges_each_request_has_its_own_connection(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "KEPT_CONNECTIONS_MAX", 1)

    async def talk(_serving: Serving) -> None:
        first = await asyncio.open_unix_connection(SOCKET_NAME)
        await say(first, hooks.prompt("kept"))
        second = await asyncio.open_unix_connection(SOCKET_NAME)
        assert await say(second, hooks.prompt("not kept")) == b"{}"
        assert await second[0].read() == b""
        assert await say(first, hooks.prompt("still kept")) == b"{}"
        for _, writer in (first, second):
            writer.close()

    served(bench, talk)
    assert bench.topics().count("prompt_submitted") == 3
