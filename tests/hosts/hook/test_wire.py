from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.hosts.hook import te_hook_core, wire

names = st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True)
delivery_ids = st.binary(min_size=16, max_size=16).map(bytes.hex)
times = st.integers(min_value=0, max_value=2**63 - 1)
headers = st.builds(
    wire.Header,
    kind=st.sampled_from(wire.KINDS),
    host=names,
    event=names,
    via=names,
    time_ns=times,
    delivery_id=delivery_ids,
    environment_length=st.just(0),
    payload_length=st.just(0),
)
spooled_calls = st.builds(
    wire.Spooled,
    host=names,
    event=names,
    via=names,
    time_ns=times,
    delivery_id=delivery_ids,
    reply=st.binary(),
    payload=st.binary(),
)
environments = st.dictionaries(
    st.text(st.characters(exclude_characters="=\0", codec="utf-8"), min_size=1),
    st.binary()
    .filter(lambda value: b"\0" not in value)
    .map(lambda value: value.decode("utf-8", "surrogateescape")),
)

GOOD_REQUEST = b"TE1 hook claude_code Stop plugin 17 " + b"ab" * 16 + b" 0 2\n"
GOOD_SPOOL = b"TE1 spool - Stop - 17 " + b"ab" * 16 + b" 2 7\n{}payload"


@given(headers, st.binary(), st.binary())
def test_a_request_is_read_as_it_was_written(header: wire.Header, environment: bytes, payload: bytes) -> None:
    payload = b"" if header.kind == "oversize" else payload
    header = replace(header, environment_length=len(environment), payload_length=len(payload))
    request = wire.encode_request(
        header.kind,
        host=header.host,
        event=header.event,
        via=header.via,
        time_ns=header.time_ns,
        delivery_id=header.delivery_id,
        environment=environment,
        payload=payload,
    )
    line, end, body = request.partition(b"\n")
    assert len(line + end) <= wire.HEADER_BYTES_MAX
    assert wire.parse_header(line + end) == header
    assert body == environment + payload


@given(spooled_calls)
def test_a_spooled_call_is_read_as_it_was_written(spooled: wire.Spooled) -> None:
    assert wire.parse_spooled(wire.encode_spooled(spooled)) == spooled


@given(version=st.from_regex(r"[0-9a-z.+]{1,20}", fullmatch=True), reply=st.binary())
def test_a_reply_is_read_as_it_was_written(version: str, reply: bytes) -> None:
    line, end, body = wire.encode_reply(version, reply).partition(b"\n")
    assert wire.parse_reply_header(line + end) == wire.ReplyHeader(version, len(reply))
    assert body == reply


@given(environments)
def test_an_environment_is_read_as_it_was_written(variables: dict[str, str]) -> None:
    assert wire.parse_environment(wire.encode_environment(variables)) == variables


@given(st.binary())
def test_arbitrary_bytes_are_refused_by_a_wire_error_alone(data: bytes) -> None:
    for parse in (wire.parse_header, wire.parse_reply_header, wire.parse_spooled):
        with pytest.raises(wire.WireError):
            parse(data)


@pytest.mark.parametrize(
    "line",
    [
        GOOD_REQUEST[:-1],
        GOOD_REQUEST + b"\n",
        GOOD_REQUEST.replace(b"TE1", b"TE2"),
        GOOD_REQUEST.replace(b"hook", b"hooks"),
        GOOD_REQUEST.replace(b"Stop", b""),
        GOOD_REQUEST.replace(b"Stop", b"St op"),
        GOOD_REQUEST.replace(b"Stop", b"S" * 41),
        GOOD_REQUEST.replace(b"Stop", "Stöp".encode()),
        GOOD_REQUEST.replace(b" 17 ", b" -17 "),
        GOOD_REQUEST.replace(b" 17 ", b" 0x11 "),
        GOOD_REQUEST.replace(b" 17 ", " \N{SUPERSCRIPT TWO} ".encode()),
        GOOD_REQUEST.replace(b"ab" * 16, b"AB" * 16),
        GOOD_REQUEST.replace(b"ab" * 16, b"ab" * 15),
        GOOD_REQUEST.replace(b" 0 2\n", b" 0 %d\n" % (wire.PAYLOAD_BYTES_MAX + 1)),
        GOOD_REQUEST.replace(b" 0 2\n", b" %d 2\n" % (wire.ENVIRONMENT_BYTES_MAX + 1)),
        GOOD_REQUEST.replace(b" 0 2\n", b" 0 " + b"9" * 5000 + b"\n"),
        GOOD_REQUEST.replace(b"hook", b"oversize"),
    ],
)
def test_a_request_header_that_is_off_is_refused(line: bytes) -> None:
    assert wire.parse_header(GOOD_REQUEST).payload_length == 2
    with pytest.raises(wire.WireError):
        wire.parse_header(line)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD_SPOOL[:-1],
        GOOD_SPOOL + b"x",
        GOOD_SPOOL.partition(b"\n")[0],
        GOOD_SPOOL.replace(b" spool ", b" hook "),
    ],
)
def test_a_spool_file_that_was_cut_or_extended_is_refused(data: bytes) -> None:
    assert wire.parse_spooled(GOOD_SPOOL).payload == b"payload"
    with pytest.raises(wire.WireError):
        wire.parse_spooled(data)


@pytest.mark.parametrize("data", [b"PATH", b"=value", b"A=1\0", b"\0A=1"])
def test_an_environment_with_a_nameless_record_is_refused(data: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.parse_environment(data)


def test_a_reply_longer_than_a_client_takes_is_refused() -> None:
    with pytest.raises(wire.WireError):
        wire.encode_reply("1.0", b"x" * (wire.REPLY_BYTES_MAX + 1))


@pytest.mark.parametrize("limit", ["PAYLOAD_BYTES_MAX", "ENVIRONMENT_BYTES_MAX", "REPLY_BYTES_MAX"])
def test_client_and_daemon_have_the_same_limits(limit: str) -> None:
    assert getattr(te_hook_core, limit) == getattr(wire, limit)
