"""The tokens of one model reply, as an agent's own log reports them."""

from __future__ import annotations

from datetime import datetime

import msgspec


class UsageRecord(msgspec.Struct, frozen=True, array_like=True):
    """
    What one model reply cost; None where the log does not say, which is not 0.

    A struct, where other records are dataclasses: there are tens of thousands, and they are kept in a file.

    Attributes:
        usage_id: the same wherever the agent wrote this reply down again; never empty.
        session_id: the session that paid for it.
        agent_id: of the sub-agent that asked, else empty.
        project: the folder that the agent worked in, as its log names it, else empty.
        at: when it was logged, with its zone.
        model: as the log names it; empty where it does not.
        provider: as the log names it, else empty.
        input: tokens that were neither read from nor written to the cache.
        output: with reasoning.
        cache_read: tokens read from the cache.
        cache_write_5m: tokens written to a cache of five minutes, or of unknown life.
        cache_write_1h: tokens written to a cache of one hour.
        reasoning: the part of `output` that was reasoning.
        copied: found in a fork whose log does not name the payer: any other record of the reply is its own.

    """

    usage_id: str
    session_id: str
    agent_id: str
    project: str
    at: datetime | None
    model: str
    provider: str
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write_5m: int | None
    cache_write_1h: int | None
    reasoning: int | None
    copied: bool = False
