"""The tokens of a reply, from its bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opencode_layouts import BEGAN, reply, tokens, user

from tokeneconomizer.hosts.opencode.log_messages import (
    Message,
    Session,
    Times,
    message_from,
    object_from,
    session_from,
    settled,
    usage_of,
)

if TYPE_CHECKING:
    from opencode_layouts import Json

    from tokeneconomizer.domain.usage_record import UsageRecord

TODAY = Session("ses_1", None, "/home/dev/project", "1.18.33", Times(BEGAN))


def usage(info: Json, session: Session = TODAY) -> UsageRecord | None:
    message = message_from(json.dumps(info).encode())
    assert message is not None
    return usage_of(message, session)


def of_reply(**fields: object) -> Json:
    info: Json = reply(2, **fields)["info"]
    return info


def test_a_reply_tells_what_it_cost() -> None:
    found = usage(of_reply())

    assert found is not None
    assert (found.session_id, found.project) == ("ses_1", "/home/dev/project")
    assert (found.model, found.provider) == ("model-1", "lab")
    assert found.at is not None
    assert found.at.timestamp() * 1000 == BEGAN + 2
    assert (found.input, found.output, found.reasoning) == (10, 5, 0)
    assert (found.cache_read, found.cache_write_5m, found.cache_write_1h) == (100, 0, None)


@pytest.mark.parametrize(
    ("counted", "version", "provider", "output"),
    [
        # The reply's own total tells whether the reasoning is in its output.
        (tokens(total=115, reasoning=4), "1.2.24", "opencode", 5),
        (tokens(total=119, reasoning=4), "1.14.30", "openai", 9),
        (tokens(total=115, reasoning=4), "1.14.30", "openai", 5),
        # Without one the version does.
        (tokens(total=None, reasoning=4), "1.1.40", "openai", 5),
        (tokens(total=None, reasoning=4), "1.4.0", "openai", 9),
        (tokens(total=None, reasoning=4), "", "openai", 9),
        (tokens(total=None, reasoning=4), "local", "openai", 9),
        # More reasoning than output cannot be in it, and Google counts it apart.
        (tokens(total=None, reasoning=7), "1.1.40", "openai", 12),
        (tokens(total=None, reasoning=4), "1.1.40", "google", 9),
    ],
)
def test_output_includes_reasoning(counted: Json, version: str, provider: str, output: int) -> None:
    session = Session("ses_1", version=version)

    found = usage(of_reply(tokens=counted, providerID=provider), session)

    assert found is not None
    assert found.output == output


@pytest.mark.parametrize(
    "info",
    [
        user(1, "mend it")["info"],
        of_reply(tokens=tokens(input=0, output=0, cache={"read": 0, "write": 0})),
        of_reply(tokens=None),
        of_reply(tokens={}),
        of_reply(tokens="many"),
        of_reply(time={"created": BEGAN - 1}),
    ],
)
def test_what_nobody_paid_for_is_not_counted(info: Json) -> None:
    assert usage(info) is None


def test_replies_with_a_blanked_out_id_are_told_apart_by_their_time() -> None:
    first, second = usage(reply(2, id="X")["info"]), usage(reply(3, id="X")["info"])

    assert first is not None
    assert second is not None
    assert first.usage_id != second.usage_id


def test_what_is_not_said_is_not_nought() -> None:
    found = usage(of_reply(tokens={"input": 7}))

    assert found is not None
    assert (found.input, found.output, found.cache_read, found.reasoning) == (7, None, None, None)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.just([1]),
    st.just({"a": 1}),
)


@given(
    st.dictionaries(
        st.sampled_from([*of_reply(), "error", "summary"]), ODD | st.dictionaries(st.sampled_from([
            "created", "completed", "input", "output", "reasoning", "total", "cache", "cwd", "name",
        ]), ODD)
    )
)  # fmt: skip
def test_fields_of_any_type_are_read(changed: Json) -> None:
    info = json.dumps(of_reply(**changed)).encode()

    message = message_from(info)
    session = session_from(info)

    assert message is not None
    assert session is not None
    usage_of(message, session)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_none(raw: bytes) -> None:
    message_from(raw)
    session_from(raw)
    object_from(raw)


def test_a_field_of_another_type_costs_only_itself() -> None:
    found = usage(of_reply(modelID=7, tokens=tokens(input="many", output=5.0)))

    assert found is not None
    assert (found.model, found.input, found.output, found.cache_read) == ("", None, 5, 100)


def test_half_a_character_costs_nothing() -> None:
    info = json.dumps(of_reply(modelID="model-1")).encode().replace(b'"build"', rb'"\ud83d"')

    message = message_from(info)

    assert message is not None
    assert message.model_id == "model-1"


def test_damaged_bytes_are_no_message() -> None:
    info = json.dumps(of_reply()).encode()

    assert message_from(info.replace(b"build", b"b\xffild")) is None
    assert message_from(info[:-1]) is None
    assert message_from(info.replace(b"115", b"1e999")) is None


ASKED = Message("a", "user")
OPEN = Message("b", "assistant")
DONE = Message("c", "assistant", time=Times(1, 2))


@pytest.mark.parametrize(
    ("messages", "complete"),
    [
        ([], 0),
        ([ASKED], 0),
        ([ASKED, OPEN], 1),
        ([ASKED, DONE], 2),
        ([ASKED, OPEN, ASKED], 1),
        ([ASKED, OPEN, ASKED, DONE], 4),
        ([ASKED, DONE, None], 2),
        ([ASKED, None, DONE], 3),
    ],
)
def test_a_message_is_complete_when_it_says_so_or_when_another_shows_it(
    messages: list[Message | None], complete: int
) -> None:
    assert settled(messages) == complete
