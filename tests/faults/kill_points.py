"""
Every moment between two durable steps, as data: how a process gets there, and what must hold afterwards.

The program knows nothing of them: a child of the driver wraps the named attribute and ends itself there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from killing import STATEMENT, Where

from tokeneconomizer.projections import counters

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE = "@ events.db"


@dataclass(frozen=True)
class Holds:
    """
    What must hold of one hook call once a daemon has come up again.

    Attributes:
        answered: its agent got the whole reply.
        stored: it is in the log.
        said: what its reply said counts as delivered.

    """

    answered: bool
    stored: bool
    said: bool = False


@dataclass(frozen=True)
class KillPoint:
    """
    One moment.

    Attributes:
        part: of the program, whose promises are then looked at.
        name: what was done last, or would be done next.
        where: the moment.
        process: whether the work or the daemon is killed.
        work: which work is done, or empty.
        daemon: which daemon runs, or empty.
        holds: for the parts about one hook call.

    """

    part: str
    name: str
    where: Where
    process: str = "work"
    work: str = ""
    daemon: str = ""
    holds: Holds | None = None

    def __str__(self) -> str:
        return f"{self.part}: {self.where.when} {self.name}"


def _around(
    name: str, attribute: str, matching: str = "", nth: int = 1
) -> tuple[tuple[str, Where], tuple[str, Where]]:
    return (
        (name, Where(attribute, "before", nth, matching)),
        (name, Where(attribute, "after", nth, matching)),
    )


def _before(name: str, attribute: str, matching: str = "", nth: int = 1) -> tuple[str, Where]:
    return (name, Where(attribute, "before", nth, matching))


def _after(name: str, attribute: str, matching: str = "", nth: int = 1) -> tuple[str, Where]:
    return (name, Where(attribute, "after", nth, matching))


EXCHANGE = "tokeneconomizer.writers.replacing:exchange"

LOST = Holds(answered=False, stored=False)
KEPT = Holds(answered=False, stored=True)
ANSWERED = Holds(answered=True, stored=True)
SAID = Holds(answered=True, stored=True, said=True)

HOOK_ALONE = (
    (LOST, _before("the spool's folder is made", "os:makedirs", "'spool'")),
    (LOST, _before("the spool's file is opened", "os:open", "spool/.")),
    (LOST, _after("the spool's file is opened", "os:open", "spool/.")),
    (LOST, _before("the spool's file is written", "os:write")),
    (LOST, _after("the spool's file is written", "os:write")),
    (LOST, _after("the spool's file is synced", "os:fsync")),
    (LOST, _before("the spool's file is renamed", "os:rename", "spool/.")),
    (KEPT, _after("the spool's file is renamed", "os:rename", "spool/.")),
    (KEPT, _before("the log is opened", "os:open", "hook.log")),
    (KEPT, _after("the log is written", "os:write", "host=")),
    (KEPT, _before("the reply is written", "posix:write")),
    (ANSWERED, _after("the reply is written", "posix:write")),
    (ANSWERED, _before("the start of a daemon is stamped", "os:pwrite")),
    (ANSWERED, _after("the start of a daemon is stamped", "os:pwrite")),
    (ANSWERED, _before("a daemon is started", "tokeneconomizer.hosts.hook.hook_cold:start_daemon")),
)

HOOK_WITH_DAEMON = (
    (LOST, _before("connecting", "works:WatchedSocket.connect")),
    (LOST, _after("connecting", "works:WatchedSocket.connect")),
    (KEPT, _after("the request is sent", "works:WatchedSocket.sendall")),
    (KEPT, _before("the reply is received", "works:WatchedSocket.recv")),
    (KEPT, _after("the reply is received", "works:WatchedSocket.recv")),
    (KEPT, _before("the reply is written", "posix:write")),
    (ANSWERED, _after("the reply is written", "posix:write")),
    (ANSWERED, _before("confirming", "works:WatchedSocket.send", "b'+'")),
    (SAID, _after("confirming", "works:WatchedSocket.send", "b'+'")),
)

DAEMON_WITH_HOOK = (
    (ANSWERED, _before("the request is read", "tokeneconomizer.scheduler.server:_read_request")),
    (ANSWERED, _after("the request is read", "tokeneconomizer.scheduler.server:_read_request")),
    (ANSWERED, _before("the first event is inserted", STATEMENT, "INSERT INTO stored_events")),
    (ANSWERED, _after("the first event is inserted", STATEMENT, "INSERT INTO stored_events")),
    (ANSWERED, _after("the last event is inserted", STATEMENT, "INSERT INTO stored_events", 3)),
    (ANSWERED, _before("committing", STATEMENT, f"COMMIT {STORE}", 3)),
    (ANSWERED, _after("committing", STATEMENT, f"COMMIT {STORE}", 3)),
    (ANSWERED, _before("the reply is sent", "tokeneconomizer.hosts.hook.wire:encode_reply")),
    (SAID, _before("the confirmation is awaited", "tokeneconomizer.scheduler.server:Server._confirm")),
    (SAID, _after("the confirmation is read", "tokeneconomizer.scheduler.server:Server._confirm")),
)

DAEMON_ANSWERING_FIRST = (
    (ANSWERED, _before("the call is kept", "os:pwrite", "TE1 spool")),
    (ANSWERED, _after("the call is kept", "os:pwrite", "TE1 spool")),
    (ANSWERED, _before("the kept call is answered", "tokeneconomizer.hosts.hook.wire:encode_reply")),
    (ANSWERED, _before("the kept call is stored", "tokeneconomizer.scheduler.live_calls:LiveCalls.finish")),
    (ANSWERED, _before("its first event is inserted", STATEMENT, "INSERT INTO stored_events")),
    (ANSWERED, _after("its last event is inserted", STATEMENT, "INSERT INTO stored_events", 2)),
    (ANSWERED, _before("its events are committed", STATEMENT, f"COMMIT {STORE}", 3)),
    (ANSWERED, _after("its events are committed", STATEMENT, f"COMMIT {STORE}", 3)),
    (ANSWERED, _before("it is kept no longer", "os:ftruncate")),
    (ANSWERED, _after("it is kept no longer", "os:ftruncate")),
)

DAEMON_WITH_DEAF_AGENT = (
    # Nobody is left who knows that it did not arrive.
    (
        Holds(answered=False, stored=True, said=True),
        _before("the failure is inserted", STATEMENT, "INSERT INTO stored_events", 4),
    ),
    (
        Holds(answered=False, stored=True, said=True),
        _before("the failure is committed", STATEMENT, f"COMMIT {STORE}", 4),
    ),
    (KEPT, _after("the failure is committed", STATEMENT, f"COMMIT {STORE}", 4)),
)

SAVING = (
    _before("beginning", STATEMENT, f"BEGIN IMMEDIATE {STORE}", 4),
    _after("beginning", STATEMENT, f"BEGIN IMMEDIATE {STORE}", 4),
    *_around("an event is inserted", STATEMENT, "INSERT INTO stored_events", 3),
    *_around("committing", STATEMENT, f"COMMIT {STORE}", 5),
    _after("the call is answered", "tokeneconomizer.scheduler.hook_calls:HookCalls.answer", nth=3),
    *_around("a snapshot is inserted", STATEMENT, "INSERT OR REPLACE"),
    _after("the snapshot is committed", STATEMENT, f"COMMIT {STORE}", 9),
)

DRAINING = (
    _before("the first call is read", "tokeneconomizer.scheduler.spool:spooled_call"),
    _before("the first call is saved", STATEMENT, "INSERT INTO stored_events"),
    *_around("the first call is committed", STATEMENT, f"COMMIT {STORE}", 3),
    *_around("the first file is removed", "os:unlink", "/spool/"),
    *_around("the second call is committed", STATEMENT, f"COMMIT {STORE}", 4),
    *_around("the second file is removed", "os:unlink", "/spool/", 2),
)

VIEW_FILE = f"counters.{counters.SCHEMA}.db"
NEW_VIEW_FILE = f"counters.{counters.SCHEMA}-2.db"
VIEW = f"@ {VIEW_FILE}"
NEW_VIEW = f"@ {NEW_VIEW_FILE}"

FOLDING = (
    *_around("the draft of a view is linked into place", "os:link", VIEW_FILE),
    *_around("the pointer is replaced", "os:replace", "counters.current"),
    _after("beginning", STATEMENT, f"BEGIN IMMEDIATE {VIEW}", 2),
    _after("the rows are released", STATEMENT, f"RELEASE events {VIEW}", 2),
    *_around("the position is set", STATEMENT, "UPDATE progress", 2),
    *_around("committing", STATEMENT, f"COMMIT {VIEW}", 2),
)

SWITCHING = (
    *_around("the draft of the new view is linked into place", "os:link", NEW_VIEW_FILE),
    *_around("the new view is committed", STATEMENT, f"COMMIT {NEW_VIEW}"),
    _before("the pointer's draft is synced", "tokeneconomizer.projections.switch:_flush", "draft"),
    *_around("the pointer is replaced", "os:replace", "counters.current"),
    *_around("the old view is removed", "os:unlink", f"{VIEW_FILE}')"),
    _before("the last of what lies beside the old view is removed", "os:unlink", f"{VIEW_FILE}-journal"),
)

CONFIGURING = (
    *_around("the temporary file is opened", "os:open", ".config.yaml."),
    *_around("the temporary file is synced", "os:fsync"),
    *_around("the file is replaced", "os:replace", "config.yaml"),
    _after("the folder is synced", "os:fsync", nth=2),
    _before("the event is inserted", STATEMENT, "INSERT INTO stored_events"),
    _before("the event is committed", STATEMENT, f"COMMIT {STORE}", 3),
    _after("the event is committed", STATEMENT, f"COMMIT {STORE}", 3),
)

SETTING_UP = (
    *_around("what is to be told is replaced", "os:replace", "untold.json"),
    *_around("the marketplace's file is replaced", "os:replace", "marketplace.json"),
    *_around("the plugin's file is replaced", "os:replace", "plugin.json"),
    *_around("the hooks' file is replaced", "os:replace", "hooks.json"),
    *_around("the last skill is replaced", "os:replace", "config/SKILL.md"),
    *_around("the record is replaced", "os:replace", "installed.json"),
    *_around("the temporary settings are opened", "os:open", ".settings.json."),
    *_around("the settings change places", EXCHANGE, "'settings.json'"),
    _before("the event is inserted", STATEMENT, "INSERT INTO stored_events"),
    *_around("the event is committed", STATEMENT, f"COMMIT {STORE}", 3),
    *_around("what was to be told is removed", "os:unlink", "untold.json"),
)

UNINSTALLING = (
    *_around("what is to be told is replaced", "os:replace", "untold.json"),
    *_around("the temporary settings are opened", "os:open", ".settings.json."),
    *_around("the settings change places", EXCHANGE, "'settings.json'"),
    *_around("the record is replaced", "os:replace", "installed.json"),
    _before("the plugin's folder is removed", "shutil:rmtree"),
    _after("the first of its files is removed", "os:unlink", "dir_fd"),
    _after("the plugin's folder is removed", "shutil:rmtree"),
    _before("the event is inserted", STATEMENT, "INSERT INTO stored_events"),
    *_around("the event is committed", STATEMENT, f"COMMIT {STORE}", 3),
    *_around("what was to be told is removed", "os:unlink", "untold.json"),
)

STARTING = (
    _before("the log is opened", "tokeneconomizer.scheduler.daemon:open_log"),
    _after("the log is opened", "tokeneconomizer.scheduler.daemon:open_log"),
    *_around("the key's draft is synced", "os:fsync"),
    *_around("the key is linked into place", "os:link", "/key"),
    _after("the key's draft is removed", "os:unlink", "/key."),
    *_around("the store is set to its journal", STATEMENT, f"PRAGMA journal_mode=WAL {STORE}"),
    *_around("the store is marked as ours", STATEMENT, "PRAGMA application_id"),
    *_around("the store's schema is marked", STATEMENT, "PRAGMA user_version="),
    *_around("the events' table is created", STATEMENT, "CREATE TABLE IF NOT EXISTS stored_events"),
    *_around("the events' table is committed", STATEMENT, f"COMMIT {STORE}", 2),
    *_around("the socket is bound", "tokeneconomizer.scheduler.server:Server.listen"),
    *_around("the views' first pointer is replaced", "os:replace", "counters.current"),
)

STOPPING = (
    *_around("the views are closed", "tokeneconomizer.scheduler.folding:Folding.close"),
    *_around("the store is closed", "tokeneconomizer.scheduler.store:EventStore.close"),
    *_around("the socket is removed", "os:unlink", "daemon.sock"),
)


def _all() -> Iterator[KillPoint]:
    for holds, (name, where) in HOOK_ALONE:
        yield KillPoint("hook without daemon", name, where, work="hook", holds=holds)
    for holds, (name, where) in HOOK_WITH_DAEMON:
        yield KillPoint("hook", name, where, work="hook", daemon="daemon", holds=holds)
    for work, table in (
        ("hook", DAEMON_WITH_HOOK),
        ("hook of a failed call", DAEMON_ANSWERING_FIRST),
        ("hook of a deaf agent", DAEMON_WITH_DEAF_AGENT),
    ):
        for holds, (name, where) in table:
            yield KillPoint("daemon", name, where, "daemon", work=work, daemon="daemon", holds=holds)
    for part, work, steps in (
        ("save", "calls", SAVING),
        ("projection", "fold", FOLDING),
        ("view switch", "rebuild", SWITCHING),
        ("config", "te config set", CONFIGURING),
        ("setup", "te setup", SETTING_UP),
        ("uninstall", "te setup --uninstall", UNINSTALLING),
    ):
        for name, where in steps:
            yield KillPoint(part, name, where, work=work)
    for part, moments in (("spool", DRAINING), ("start", STARTING), ("stop", STOPPING)):
        for name, where in moments:
            yield KillPoint(part, name, where, "daemon", daemon="daemon until idle")


KILL_POINTS = tuple(_all())
