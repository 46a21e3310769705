import dataclasses
import json
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain.digests import (
    CALL_ID_CHARACTERS_MAX,
    TARGET_CHARACTERS_MAX,
    TOOL_CHARACTERS_MAX,
    Call,
    CallDigest,
    CallKind,
    CallStatus,
    Hasher,
    canonical_json,
    digest_call,
    target_name,
)

HASHER = Hasher(b"a key of thirty-two bytes, or so")
HOME = "/home/somebody"
PLAIN = Call(
    call_id="call_1",
    tool="Bash",
    kind=CallKind.SHELL,
    server="",
    arguments={"command": "pytest -q"},
    command="pytest -q",
    target="",
    edited="",
    output="1 passed in 0.1s",
    status=CallStatus.OK,
    exit_code=0,
    interrupted=False,
    background=False,
    duration_ms=12,
)


def digest(**changes: object) -> CallDigest:
    return digest_call(dataclasses.replace(PLAIN, **changes), HASHER, HOME)  # type: ignore[arg-type]  # any field


def test_a_digest_says_what_was_done() -> None:
    done = digest()
    assert (done.call_id, done.tool, done.kind, done.server) == ("call_1", "Bash", CallKind.SHELL, "")
    assert (done.command, done.command_template) == ("pytest -q", "pytest -q")
    assert (done.input_characters, done.output_characters) == (len('{"command":"pytest -q"}'), 16)
    assert (done.status, done.exit_code, done.duration_ms) == (CallStatus.OK, 0, 12)
    assert (done.target, done.target_hash, done.edit_hash) == ("", "", "")
    assert (done.signature, done.signature_hash) == ("", "")
    assert (done.background, done.interrupted) == (False, False)


def test_every_field_is_a_flat_value() -> None:
    for value in dataclasses.asdict(digest(output="KeyError: 'x'", status=CallStatus.FAILED)).values():
        assert value is None or isinstance(value, (str, int, bool))


def test_a_result_is_told_apart_by_its_masked_text_and_arguments_by_every_character() -> None:
    assert digest(output="1 passed in 0.2s").result_hash == digest().result_hash
    assert digest(output="1 failed in 0.2s").result_hash != digest().result_hash
    assert (
        digest(arguments={"command": "sleep 1"}).arguments_hash
        != digest(arguments={"command": "sleep 2"}).arguments_hash
    )


def test_the_order_of_arguments_does_not_count() -> None:
    assert (
        digest(arguments={"a": 1, "b": [2]}).arguments_hash
        == digest(arguments={"b": [2], "a": 1}).arguments_hash
    )
    assert canonical_json(MappingProxyType({"b": "é", "a": None})) == '{"a":null,"b":"é"}'


def test_arguments_nested_beyond_all_measure_are_survived() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert digest(arguments=deep).arguments_hash
    while deep:
        inner = deep.pop("a", {})
        assert isinstance(inner, dict)
        deep = inner


def test_an_edit_is_known_by_its_new_content_also_an_empty_one() -> None:
    edit = {"kind": CallKind.EDIT, "command": "", "target": "/srv/app/a.py"}
    first, second, empty = (digest(**edit, edited=text).edit_hash for text in ("x = 1", "x = 2", ""))
    assert len({first, second, empty, ""}) == 4
    assert digest(**edit, edited="x = 1").edit_hash == first
    assert digest(edited="x = 1").edit_hash == ""


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/srv/app/src/a.py", "a.py"),
        ("src/app/", "app"),
        ("C:\\work\\a.py", "a.py"),
        ("https://me:pw@Docs.Example.com:8443/a?key=1", "docs.example.com"),
        ("https://[::1]:80/a", "[::1]"),
        ("file:///srv/a.py", ""),
        ("a\nb\x00c\ud800.py", "a b c .py"),
        ("/srv/gh" + "p_" + "a1B2" * 9, "<secret>"),
        ("/srv/" + "x" * 300, "x" * TARGET_CHARACTERS_MAX),
        ("", ""),
    ],
)
def test_of_a_target_the_base_name_or_host_is_kept(target: str, name: str) -> None:
    assert target_name(target) == name


def test_targets_of_the_same_name_are_told_apart() -> None:
    assert digest(target="/a/x.py").target == digest(target="/b/x.py").target == "x.py"
    assert digest(target="/a/x.py").target_hash != digest(target="/b/x.py").target_hash


def test_foreign_names_are_bounded_and_clean() -> None:
    done = digest(call_id="c\x00" * 300, tool="t\ud800" * 300, server="s\n" * 300)
    assert len(done.call_id) <= CALL_ID_CHARACTERS_MAX
    assert max(len(done.tool), len(done.server)) <= TOOL_CHARACTERS_MAX
    assert (done.call_id + done.tool + done.server).encode().decode().isprintable()


@pytest.mark.parametrize(
    ("status", "exit_code", "output", "signature", "has_hash"),
    [
        (CallStatus.FAILED, 1, "Exit code 1\nKeyError: 'x'", "KeyError", True),
        (CallStatus.FAILED, 3, "", "exit 3", False),
        (CallStatus.FAILED, None, "", "", False),
        (
            CallStatus.NEVER_RAN,
            None,
            "<tool_use_error>File has not been read yet.",
            "file has not been read yet",
            True,
        ),
        (CallStatus.OK, 0, "KeyError: 'x'", "", False),
    ],
)
def test_only_a_failure_has_a_signature(
    status: CallStatus, exit_code: int | None, output: str, signature: str, *, has_hash: bool
) -> None:
    done = digest(status=status, exit_code=exit_code, output=output)
    assert (done.signature, bool(done.signature_hash)) == (signature, has_hash)


def test_hashes_need_the_key() -> None:
    assert HASHER.hash("a") == Hasher(b"a key of thirty-two bytes, or so").hash("a")
    assert HASHER.hash("a") != Hasher(b"another key").hash("a")
    assert Hasher(b"k" * 200).hash("a")


@given(st.text(alphabet=st.characters()))
def test_a_hash_of_any_text_is_sixteen_hexadecimal_digits(text: str) -> None:
    assert len(bytes.fromhex(HASHER.hash(text))) == 8


# Markers that stand for what must never be kept: a name, a line of source, a secret.
MARKERS = (
    "CANARYvermilionOTTER",
    "canary_total = canary_price * (1 + CANARY_RATE)",
    "np" + "m_CANARY" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5",
)
SHELL_FRAMES = [
    "echo '{}' > notes.txt",
    "printf '%s\\n' '{}'",
    "cat > a.py <<'EOF'\n{}\nEOF",
    "python - <<EOF\nx = 1\n{}\nEOF\nls",
    'python -c "{}"',
    "node -e '{}'",
    "perl -pe 's/{}/x/' a.pl",
    "awk '/{}/ {{ print }}' a.txt",
    "sed -i 's/{}/x/' a.py",
    "jq '.{}' a.json",
    "psql -c \"select '{}'\"",
    "grep -rn '{}' src",
    'rg -e "{}" src',
    "git grep '{}'",
    "git commit -m '{}'",
    "git commit -m \"$(cat <<'EOF'\n{}\nEOF\n)\"",
    "gh pr create --title '{}' --body \"{}\"",
    "bash -lc \"python -c '{}'\"",
    "PASSWORD='{}' run",
    "curl -H 'X-Token: {}' -d '{}' 'https://example.com/a?b={}'",
    "run --token '{}'",
    "tool <<< '{}'",
    "ls # {}",
]


def canaries_in(done: CallDigest) -> list[str]:
    return [field for field, value in dataclasses.asdict(done).items() if "canary" in str(value).lower()]


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("frame", SHELL_FRAMES)
def test_no_canary_of_a_command_is_kept(frame: str, marker: str) -> None:
    command = frame.replace("{{", "{").replace("}}", "}").replace("{}", marker)
    assert canaries_in(digest(command=command, arguments={"command": command, "description": marker})) == []


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("status", CallStatus)
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "error: {}",
        "KeyError: '{}'",
        "{}Error: x",
        "com.example.{}Exception",
        "FAILED tests/{}.py - AssertionError: {}",
        "<tool_use_error>String to replace not found in file.\nString: {}</tool_use_error>",
        "{}: command not found",
        "error TS2304: Cannot find name '{}'.",
    ],
)
def test_no_canary_of_an_output_is_kept(frame: str, status: CallStatus, marker: str) -> None:
    assert canaries_in(digest(output=frame.replace("{}", marker), status=status, exit_code=1)) == []


@pytest.mark.parametrize("marker", MARKERS)
def test_no_canary_of_edits_prompts_and_folders_is_kept(marker: str) -> None:
    edit = {"file_path": f"/srv/{marker}/a.py", "old_string": marker, "new_string": marker}
    done = digest(kind=CallKind.EDIT, arguments=edit, command="", target=edit["file_path"], edited=marker)
    assert canaries_in(done) == []
    asked = digest(
        kind=CallKind.AGENT, arguments={"prompt": marker, "nested": [{marker: marker}]}, command=""
    )
    assert canaries_in(asked) == []
    fetched = digest(kind=CallKind.WEB, target=f"https://example.com/{marker}?q={marker}", command="")
    assert canaries_in(fetched) == []


NOISE = st.text(alphabet="ab \n\t=:/.-_(){}[]<>|&;$#01", max_size=40)
ENDS_OF_QUOTES = NOISE.map(lambda noise: noise.replace("\n", " "))


@given(NOISE, NOISE, st.sampled_from(CallStatus))
@settings(deadline=None)
def test_no_canary_is_kept_wherever_it_stands_in_an_output(
    before: str, after: str, status: CallStatus
) -> None:
    output = f"{before}error {MARKERS[0]}{after} {MARKERS[1]}\nCannot {MARKERS[2]}"
    assert canaries_in(digest(output=output, status=status)) == []


@given(NOISE, NOISE, st.sampled_from(["'", '"']))
@settings(deadline=None)
def test_no_canary_is_kept_wherever_it_stands_in_quoted_prose(before: str, after: str, quote: str) -> None:
    before = before.replace("$(", "$ ")
    after = after.replace("$(", "$ ")
    command = f"tool --flag {quote}{before}{MARKERS[1]}{after}{quote} && ls"
    assert canaries_in(digest(command=command, arguments=json.loads(json.dumps({"command": command})))) == []


@given(NOISE.filter(lambda noise: "\nEOF" not in noise), ENDS_OF_QUOTES)
@settings(deadline=None)
def test_no_canary_is_kept_wherever_it_stands_in_a_heredoc(before: str, after: str) -> None:
    command = f"cat > a.py <<'EOF'\n{before}\n{MARKERS[0]}{after}\nEOF\nls"
    assert canaries_in(digest(command=command)) == []


def test_red_tests_have_a_signature_whatever_the_status() -> None:
    call = dataclasses.replace(PLAIN, output="E   ValueError: boom\n1 failed in 0.2s")

    assert digest_call(call, HASHER, HOME).signature == ""
    assert "ValueError" in digest_call(call, HASHER, HOME, is_red=True).signature
