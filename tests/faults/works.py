"""What a child of the driver does until it is killed: the program's own work, through its own entrances."""

from __future__ import annotations

import _socket
import asyncio
import json
import os
import posix
import signal
import socket
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LISTENING = b"listening"


class WatchedSocket(_socket.socket):
    """The hook client's socket, whose methods can be wrapped."""

    def connect(self, address: Any) -> None:
        super().connect(address)

    def sendall(self, data: Any, *flags: int) -> None:
        super().sendall(data, *flags)

    def recv(self, size: int, *flags: int) -> bytes:
        return super().recv(size, *flags)

    def send(self, data: Any, *flags: int) -> int:
        return super().send(data, *flags)


def enter(place: Path) -> None:
    """Take over the environment of one test's place."""
    os.environ.update(
        HOME=str(place / "user"),
        TOKENECONOMIZER_HOME=str(place / "home"),
        PATH=os.defpath,
        LANG="C.UTF-8",
    )
    # The hook client reads the environment as bytes, as it was when the process began.
    posix.environ.update({os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()})
    os.chdir(place / "user")


def hook(place: Path) -> None:
    """The hook client, as its agent starts it: the payload on stdin, the reply on stdout."""
    from tokeneconomizer.hosts.hook import hook_cold, te_hook_core  # noqa: PLC0415 - in the child alone

    # A daemon that was really started would outlive the test.
    hook_cold.DAEMON_COMMAND[:] = ["/bin/false"]
    _socket.socket = WatchedSocket  # type: ignore[misc]
    os.dup2(os.open(place / "payload", os.O_RDONLY), 0)
    os.dup2(os.open(place / "reply", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    sys.argv = ["te-hook", "--host", "claude_code", "--event", "PostToolBatch", "--via", "plugin"]
    te_hook_core.main()


def hook_of_failed_call(place: Path) -> None:
    """The same with a payload to which nothing is ever said."""
    from hook_payloads import failing_step  # noqa: PLC0415 - in the child alone

    (place / "payload").write_bytes(failing_step("c")[0])
    hook(place)


def hook_of_deaf_agent(place: Path) -> None:
    """The same, of an agent that no longer reads."""
    reader, writer = os.pipe()
    os.close(reader)
    duplicate = os.dup2

    def replace_stdout(descriptor: int, number: int) -> int:
        return duplicate(writer if number == 1 else descriptor, number)

    os.dup2 = replace_stdout  # type: ignore[assignment]
    hook(place)


def daemon(place: Path, listening: int) -> None:
    """The real daemon; it tells when it listens, and serves until it is told to stop."""
    from tokeneconomizer.scheduler import folding, server  # noqa: PLC0415 - in the child alone
    from tokeneconomizer.scheduler.daemon import run  # noqa: PLC0415
    from tokeneconomizer.scheduler.home import Home  # noqa: PLC0415

    folding.PAUSE_S = 0
    listen = server.Server.listen

    async def listen_and_tell(self: server.Server) -> Any:
        opened = await listen(self)
        os.write(listening, LISTENING)
        return opened

    server.Server.listen = listen_and_tell  # type: ignore[method-assign]
    run(Home(place / "home"))


def daemon_until_idle(place: Path, listening: int) -> None:
    """The real daemon; it stops once it has folded what is there."""
    from tokeneconomizer.scheduler.folding import Folding  # noqa: PLC0415 - in the child alone

    soon = Folding.soon

    def soon_and_stop(self: Folding) -> None:
        soon(self)
        asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGTERM)

    Folding.soon = soon_and_stop  # type: ignore[method-assign]
    daemon(place, listening)


def calls(place: Path) -> None:
    """Live calls through the daemon's parts; each reply is noted as an agent would have got it."""
    from simulated_agents import Agents  # noqa: PLC0415 - in the child alone
    from simulated_daemon import Daemon  # noqa: PLC0415

    from tokeneconomizer.scheduler import application  # noqa: PLC0415
    from tokeneconomizer.scheduler.home import Home  # noqa: PLC0415
    from tokeneconomizer.scheduler.hook_calls import HookCall  # noqa: PLC0415

    application.SNAPSHOT_EVERY_EVENTS = 4
    house = Daemon(Home(place / "home"), lambda: datetime.now(UTC))
    agents = Agents()
    number = 0
    with (place / "acknowledged").open("a", encoding="utf-8", buffering=1) as acknowledged:
        for thing in ("start", "prompt", "succeed", "fail", "stop"):
            for sent in agents.send(0, 0, thing):
                number += 1
                time_ns = int(datetime.now(UTC).timestamp()) * 1_000_000_000
                call = HookCall("claude_code", sent.event, "plugin", time_ns, f"{number:032x}", sent.payload)
                house.live.answer(call)
                acknowledged.write(json.dumps([sent.stream, call.delivery_id]) + "\n")
                house.live.finish()
    house.close()


def fold(place: Path) -> None:
    """The views take what is new, a few events at a time."""
    from simulated_daemon import Daemon  # noqa: PLC0415 - in the child alone

    from tokeneconomizer.scheduler.home import Home  # noqa: PLC0415

    house = Daemon(Home(place / "home"), lambda: datetime.now(UTC))
    house.fold(batch=5, batches=100)
    house.close()


def rebuild(place: Path) -> None:
    """A view is made anew beside the one that answers."""
    from tokeneconomizer.projections import counters, switch  # noqa: PLC0415 - in the child alone
    from tokeneconomizer.projections.event_log import EventLog  # noqa: PLC0415
    from tokeneconomizer.scheduler.home import Home  # noqa: PLC0415

    home = Home(place / "home")
    with EventLog(home.events) as log:
        switch.rebuild(log, home.views, counters)


def te(*arguments: str) -> Callable[[Path], None]:
    """A command line."""

    def perform(_place: Path) -> None:
        from tokeneconomizer.console import failures  # noqa: PLC0415 - in the child alone
        from tokeneconomizer.console.main import run  # noqa: PLC0415

        os._exit(failures.guarded(lambda: run(arguments), arguments))

    return perform


WORKS: dict[str, Callable[[Path], None]] = {
    "hook": hook,
    "hook of a failed call": hook_of_failed_call,
    "hook of a deaf agent": hook_of_deaf_agent,
    "calls": calls,
    "fold": fold,
    "rebuild": rebuild,
    "te config set": te("config", "set", "loopguard", "off"),
    "te setup": te("setup", "claude_code"),
    "te setup --uninstall": te("setup", "--uninstall"),
}

DAEMONS: dict[str, Callable[[Path, int], None]] = {"daemon": daemon, "daemon until idle": daemon_until_idle}


def reaches_listening(descriptor: int) -> bool:
    """Wait until a daemon listens, or has ended."""
    with socket.fromfd(descriptor, socket.AF_UNIX, socket.SOCK_STREAM) as told:
        return told.recv(len(LISTENING)) == LISTENING
