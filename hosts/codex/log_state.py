"""What the lines of a rollout so far tell that its later lines need."""

from __future__ import annotations

import msgspec

from tokeneconomizer.hosts.records import SessionOrigin


class RolloutState(msgspec.Struct, kw_only=True):
    """
    Flat, so that it can be kept between two readings of a file.

    Attributes:
        thread_id: whose file it is.
        session_id: the main thread's; another than `thread_id` in a sub-agent's file.
        started_at: the time of the header, or of what is left of the file.
        is_open: the file's own header was read.
        is_copy: the lines are copies of another thread's, or may be: no header was read yet.
        first_own_ordinal: where the header says which lines are copies: the first that is none.
        has_copied_turn_ids: copied turns have ids, so that the first own turn is known by its own.
        totals: the last cumulative counts, each as text, empty where one is not told.
        restarts: how often cumulative counts began anew.
        has_usage_records: each reply has a record of its own, so that cumulative counts are not needed.
        told: the fields of the session as last told.
        error: the class of an error in the running turn.
        step: the step of the newest call.
        is_step_open: no result came since.
        waiting: calls whose result is not told yet.
        commands: of calls that wait and of processes that go on, each behind its id and a newline.
        nested: calls made by a script that were told already.
        has_seen_nested: the newest call is a script, and calls that it made were told.
        is_woken: the next message between agents starts a turn.
        last_prompt: hash of a prompt that nothing followed yet.
        prompted_turn: the turn of the newest prompt: one may get several, typed while it runs.

    """

    thread_id: str = ""
    session_id: str = ""
    parent: str = ""
    origin: SessionOrigin = SessionOrigin.NEW
    agent_type: str = ""
    folder: str = ""
    repository_url: str = ""
    version: str = ""
    provider: str = ""
    started_at: str = ""
    is_open: bool = False

    is_copy: bool = True
    first_own_ordinal: int = 0
    has_copied_turn_ids: bool = False

    turn_id: str = ""
    model: str = ""
    totals: list[str] = []
    restarts: int = 0
    has_usage_records: bool = False

    told: list[str] = []
    error: str = ""
    step: str = ""
    is_step_open: bool = False
    waiting: list[str] = []
    commands: list[str] = []
    nested: list[str] = []
    has_seen_nested: bool = False
    is_woken: bool = False
    last_prompt: str = ""
    prompted_turn: str = ""

    @property
    def agent_id(self) -> str:
        """Return the sub-agent whose file it is, empty in a main agent's."""
        return self.thread_id if self.session_id and self.thread_id != self.session_id else ""
