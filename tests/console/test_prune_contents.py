"""`te prune apply --now` and `restore` over what stands in agents' files: edited right, or left alone."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from console_runs import te
from deny_list_runs import ONE_NAME, Checkout, everything_below

from tokeneconomizer.hosts.pruning import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.scheduler.home import Home

JSON_HOSTS = [host for host in TARGETS if host != "codex"]

FOUR_MEGABYTES = 4 * 1024 * 1024

READABLE_JSON = {
    "an empty file": b"",
    "blanks": b" \n\t\r\n",
    "a byte order mark alone": b"\xef\xbb\xbf",
    "a byte order mark, CRLF": b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}\r\n',
    "old line ends": b'{\r "a": 1\r}\r',
    "mixed line ends": b'{\r\n "a": 1,\n "b": 2\r}',
    "an object over lines": b"{\n\n}\n",
    "one line": b'{ "a" : 1 , "b" : [ 1 , 2 ] }',
    "commas first": b'{ "a": 1\n, "b": 2\n}\n',
    "no final line end": b'{\n    "a": 1\n}',
    "many final line ends": b'{\n  "a": 1\n}\n\n\n',
    "numbers beyond 64 bits": b'{"a": 12345678901234567890123456789, "b": 1e400, "c": -0.0, "d": 1.10}',
    "half a pair": b'{"\\ud800": "\\udc00x"}',
    "other scripts": '{"ключ": "\u2028é😀"}\n'.encode(),
    "nested 150 deep": b'{"a": ' + b"[" * 150 + b"]" * 150 + b"}",
    "thousands of members": b"{" + b",".join(b'"k%d": %d' % (n, n) for n in range(5_000)) + b"}",
    "what it adds, elsewhere": b'{"x": {"permissions": {"deny": ["Workflow"]}, "tools": {"a": false}}}',
    "other kinds in the lists": b'{"permissions": {"deny": [1, null]}, "disabledMcpServers": [{}]}',
    "the ways, empty": b'{"permissions": {"deny": [\n]}, "disabledMcpServers": [ ], "tools": {\n}}',
}

UNREADABLE_JSON = {
    "null": b"null",
    "an array": b'[{"a": 1}]',
    "a text": b'"x"',
    "a line comment": b'{\n// c\n"a": 1}',
    "a block comment": b'{/* c */"a": 1}',
    "a comma too many": b'{"a": 1,}',
    "single quotes": b"{'a': 1}",
    "a key twice": b'{"a": 1, "a": 2}',
    "a key twice, escaped": b'{"x": {"a": 1, "\\u0061": 2}}',
    "no number": b'{"a": NaN}',
    "a leading zero": b'{"a": 01}',
    "Latin-1": b'{"a": "\xe9"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "half a pair as bytes": b'{"a": "\xed\xa0\x80"}',
    "a raw tab": b'{"a": "\t"}',
    "zeros": b"\x00" * 10,
    "two documents": b"{}{}",
    "an open end": b'{"a":',
    "nested 5,000 deep": b'{"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "five megabytes": b'{"a": "' + b"x" * (FOUR_MEGABYTES + 1_000_000) + b'"}',
}

OF_WRONG_KIND = [
    b'{"permissions": [], "disabledMcpServers": {}, "defaultTools": {}, "tools": []}',
    b'{"permissions": null, "disabledMcpServers": null, "defaultTools": null, "tools": null}',
    b'{"permissions": {"deny": "Workflow"}, "disabledMcpServers": "lab", "defaultTools": "bash", "tools": 1}',
]

TOML = {
    "an empty file": (b"", True),
    "comments": (b"# a\n\n# b", True),
    "a byte order mark": (b"\xef\xbb\xbf[features]\nhooks = true\n", True),
    "CRLF without a final one": (b'model = "m"\r\n\r\n[features]\r\nhooks = true', True),
    "a header without a line end": (b"[features] # mine", True),
    "a quoted header": (b"  [ 'features' ]\n\thooks = true\n", True),
    "an escaped header": (b'["f\\u0065atures"]\nhooks = true\n', True),
    "a false header in a text": (b's = """\n[features]\ngoals = false\n"""\n', True),
    "a false header in an array": (b"a = [\n[1],\n]\n", True),
    "a false line of ours": (b"s = '''\nfeatures.goals = false  # tokeneconomizer:goals\n'''\n", True),
    "dotted keys": (b"features . hooks = true\n[z]\na = 1\n", True),
    "a table below": (b"[features.multi_agent_v2]\nenabled = false\n", True),
    "arrays of tables": (b"[[hooks.Stop]]\nx = 1\n[[hooks.Stop]]\nx = 2\n", True),
    "agents that are on": (b"[agents]\nenabled = true\nmax_threads = 3\n", True),
    "agents that are on, inline": (b"agents = { enabled = true }\n", True),
    "other profiles": (b"[profiles.x.features]\ngoals = true\n", True),
    "times and big numbers": (b"a = 1979-05-27\nb = 92233720368547758070000\nc = nan\n", True),
    "a closed table": (b"features = { hooks = true }\n", False),
    "an array of features": (b"[[features]]\nx = true\n", False),
    "no table of features": (b"features = 07:32:00\n", False),
    "a feature that is no boolean": (b"[features]\nx = 1\n", False),
    "agents of another kind": (b"agents = []\n", False),
    "a role named enabled": (b'[agents.enabled]\ndescription = "x"\n', False),
    "a key twice": (b"a = 1\na = 2\n", False),
    "a table twice": (b"[features]\n[features]\n", False),
    "old line ends": (b"a = 1\rb = 2\r", False),
    "a comma too many": (b"a = { x = 1, }\n", False),
    "Latin-1": (b'a = "\xe9"\n', False),
    "UTF-16": ("a = 1\n".encode("utf-16"), False),
    "JSON": (b'{"a": 1}', False),
    "nested 5,000 deep": (b"a = " + b"[" * 5_000 + b"]" * 5_000, False),
}


def prune(verb: str, checkout: Checkout) -> dict[str, object]:
    names = ("--deny", ONE_NAME[checkout.host], "--now") if verb == "apply" else ()
    done = te("prune", verb, "--host", checkout.host, "--checkout", str(checkout.path), *names)
    assert (done.status, done.err) == (0, "")
    answer = json.loads(done.out)
    assert isinstance(answer, dict)
    return answer


def with_denial(host: str, value: dict[str, dict[str, list[object]]]) -> object:
    """The value that the file is to have then."""
    match host:
        case "claude_code":
            value.setdefault("permissions", {}).setdefault("deny", []).append("Workflow")
        case "copilot":
            value.setdefault("disabledMcpServers", []).append("lab")  # type: ignore[arg-type,attr-defined]
        case "pi":
            value["defaultTools"] = ["read", "edit", "write"]  # type: ignore[assignment]
        case "opencode":
            value.setdefault("tools", {})["webfetch"] = False  # type: ignore[assignment]
    return value


def read_json(data: bytes) -> dict[str, dict[str, list[object]]]:
    value = json.loads(data.decode("utf-8-sig").strip() or "{}")
    assert isinstance(value, dict)
    return value


def written_and_taken_back(checkout: Checkout, before: bytes, check: Callable[[bytes], None]) -> None:
    checkout.write(before)
    was = everything_below(checkout.folder / "checkout")
    assert prune("apply", checkout)["added"] == [ONE_NAME[checkout.host]]
    check(checkout.file.read_bytes())
    assert prune("restore", checkout)["removed"] == [ONE_NAME[checkout.host]]
    assert everything_below(checkout.path) == was


def refused(checkout: Checkout, before: bytes) -> object:
    checkout.write(before)
    was = everything_below(checkout.path)
    answer = prune("apply", checkout)["refused"]
    assert isinstance(answer, dict)
    assert answer["detail"]
    assert everything_below(checkout.path) == was
    assert prune("restore", checkout)["written"] is False
    assert everything_below(checkout.path) == was
    return answer["reason"]


@pytest.mark.parametrize("before", READABLE_JSON.values(), ids=READABLE_JSON)
@pytest.mark.parametrize("host", JSON_HOSTS)
def test_a_denial_is_all_that_changes_in_json(host: str, before: bytes, home: Home) -> None:
    def check(after: bytes) -> None:
        # As text, which tells 1 from 1.0 and shows the order.
        assert json.dumps(read_json(after)) == json.dumps(with_denial(host, read_json(before)))

    written_and_taken_back(Checkout(home.root.parent, host), before, check)


@pytest.mark.parametrize("before", UNREADABLE_JSON.values(), ids=UNREADABLE_JSON)
@pytest.mark.parametrize("host", JSON_HOSTS)
def test_json_that_agents_read_in_several_ways_is_left(host: str, before: bytes, home: Home) -> None:  # S6.6
    assert refused(Checkout(home.root.parent, host), before) == "not_parsable"


@pytest.mark.parametrize("before", OF_WRONG_KIND)
@pytest.mark.parametrize("host", JSON_HOSTS)
def test_a_value_of_another_kind_on_the_way_is_left(host: str, before: bytes, home: Home) -> None:
    assert refused(Checkout(home.root.parent, host), before) == "unproven_edit"


@pytest.mark.parametrize(("before", "is_editable"), TOML.values(), ids=TOML)
def test_a_switch_is_all_that_changes_in_toml(before: bytes, is_editable: bool, home: Home) -> None:
    def check(after: bytes) -> None:
        value = tomllib.loads(before.decode("utf-8-sig"))
        value.setdefault("features", {})["goals"] = False
        found = tomllib.loads(after.decode("utf-8-sig"))
        assert json.dumps(found, sort_keys=True, default=str) == json.dumps(
            value, sort_keys=True, default=str
        )

    checkout = Checkout(home.root.parent, "codex")
    if is_editable:
        written_and_taken_back(checkout, before, check)
    else:
        assert refused(checkout, before) in {"not_parsable", "unproven_edit"}


CHANGES_SINCE: dict[str, Callable[[bytes], bytes]] = {
    "other line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no final line end": lambda data: data.rstrip(b"\n"),
    "more final line ends": lambda data: data + b"\n\n",
    "no comments": lambda data: b"\n".join(line.partition(b"  #")[0] for line in data.split(b"\n")),
}


@pytest.mark.parametrize("change", CHANGES_SINCE.values(), ids=CHANGES_SINCE)
@pytest.mark.parametrize("host", TARGETS)
def test_what_another_program_did_to_the_form_since_stays(
    host: str, change: Callable[[bytes], bytes], home: Home
) -> None:  # S6.7
    before = b'model = "m"\n' if host == "codex" else b'{\n  "a": 1\n}\n'
    checkout = Checkout(home.root.parent, host)
    checkout.write(before)
    prune("apply", checkout)
    checkout.write(change(checkout.file.read_bytes()))
    assert prune("restore", checkout)["removed"] == [ONE_NAME[host]]
    assert checkout.read() == change(before)


@pytest.mark.parametrize("host", JSON_HOSTS)
def test_members_in_another_order_and_layout_are_taken_back_by_key(host: str, home: Home) -> None:
    checkout = Checkout(home.root.parent, host)
    checkout.write(b'{"a": 1, "b": 2}')
    prune("apply", checkout)
    since = read_json(checkout.file.read_bytes())
    checkout.write(json.dumps(dict(reversed(since.items())), indent=3).encode())
    assert prune("restore", checkout)["removed"] == [ONE_NAME[host]]
    assert checkout.read() == b'{\n   "b": 2,\n   "a": 1\n}'


@pytest.mark.parametrize("broken", [b"{", b"\xff", b"null"])
@pytest.mark.parametrize("host", TARGETS)
def test_a_file_that_was_broken_since_is_left_until_it_is_mended(
    host: str, broken: bytes, home: Home
) -> None:
    checkout = Checkout(home.root.parent, host)
    prune("apply", checkout)
    ours = checkout.file.read_bytes()
    checkout.write(broken)
    assert prune("restore", checkout)["refused"]
    assert checkout.read() == broken
    checkout.write(ours)
    assert prune("restore", checkout)["removed"] == [ONE_NAME[host]]
    assert everything_below(checkout.path) == {}


@pytest.mark.parametrize("host", TARGETS)
def test_what_the_user_took_away_is_ours_no_more(host: str, home: Home) -> None:
    checkout = Checkout(home.root.parent, host)
    prune("apply", checkout)
    checkout.file.unlink()
    assert prune("restore", checkout)["removed"] == []
    assert json.loads(te("prune", "status", "--json").out) == []
