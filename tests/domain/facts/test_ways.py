from __future__ import annotations

import pytest
from canaries import FAKE_SECRETS, SECRET_COMMANDS
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.facts.folders import joined, within
from tokeneconomizer.domain.facts.purposes import may_have_purpose
from tokeneconomizer.domain.facts.ways import Way, commands_in, folder_after, ways_in
from tokeneconomizer.domain.redaction import redact_command
from tokeneconomizer.domain.verdicts import read


def only_way(command: str) -> Way:
    (way,) = ways_in(redact_command(command))
    return way


@pytest.mark.parametrize(
    ("command", "text", "is_whole"),
    [
        ("npm test", "npm test", True),
        ("npm test -- tests/unit/a.test.ts", "npm test", False),
        ("go test ./...", "go test ./...", True),
        ("go test ./pkg/...", "go test", False),
        ("pytest -q tests/test_a.py::test_b", "pytest -q", False),
        ("timeout 60 pytest", "pytest", True),
        ("CI=1 npm test", "CI=1 npm test", True),
        ("docker build -f docker/Dockerfile .", "docker build -f docker/Dockerfile .", True),
        ("pnpm build 2>&1 | tail -5", "pnpm build", True),
    ],
)
def test_a_way_is_told_without_the_files_at_hand(command: str, text: str, is_whole: bool) -> None:
    way = only_way(command)
    assert (way.text, way.is_whole) == (text, is_whole)


@pytest.mark.parametrize(
    "command",
    [
        "API_KEY=abcdef123456 npm test",
        "go build -o /tmp/program .",
        "go build -o ~/bin/program .",
        "npm run build -- --out $TARGET",
    ],
)
def test_what_is_hidden_or_of_this_machine_alone_is_not_told(command: str) -> None:
    assert only_way(command).text == ""


@pytest.mark.parametrize(
    "command",
    [
        "for f in a b; do npm test; done",
        "if true; then npm test; fi",
        "npm test $(git diff --name-only)",
        "(cd ui && npm test)",
        "set -e; npm test",
        "source .venv/bin/activate && pytest",
        ". .venv/bin/activate && pytest",
        "export NODE_ENV=test; npm test",
        "wsl -e bash -c 'npm test'",
        "python - <<'EOF'\nnpm test\nEOF",
        "true; " * 9 + "npm test",
        "echo npm test",
        "",
    ],
)
def test_a_doubtful_line_shows_no_way(command: str) -> None:
    assert ways_in(redact_command(command)) == []


@pytest.mark.parametrize(
    ("command", "proven"),
    [
        ("npm test", [True]),
        ("cd ui && npm run lint && npm test", [True, True]),
        ("npm test | tail -5", [False]),
        ("npm test || true", [False]),
        ("npm run lint; npm test", [False, True]),
    ],
)
def test_a_success_counts_only_where_the_exit_status_proves_it(command: str, proven: list[bool]) -> None:
    found = [way.is_proven for way in ways_in(command) if way.purpose]
    assert found == proven


def test_a_failure_is_the_ways_own_only_where_nothing_else_can_have_failed() -> None:
    assert only_way("cd ui && npm test 2>&1 | tail -5").is_alone
    assert not any(way.is_alone for way in ways_in("git pull && npm test"))


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("", ""),
        (".", ""),
        ("ui", "ui"),
        ("./ui/", "ui"),
        ("/home/dev/project", ""),
        ("/home/dev/project/ui", "ui"),
        ("~/project/ui", "ui"),
        ("~/project", ""),
        ("/home/dev/other", None),
        ("~/other", None),
        ("../other", None),
        ("?", None),
    ],
)
def test_a_folder_is_seen_from_the_checkout(folder: str, expected: str | None) -> None:
    assert within(folder, "/home/dev/project") == expected


@pytest.mark.parametrize("folder", ["D:/work/project/src", "D:\\work\\project\\src", "/d/work/project/src"])
def test_a_drive_is_written_in_several_ways(folder: str) -> None:
    assert within(folder, "D:\\work\\project") == "src"


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("npm test", None),
        ("cd ui && npm test", "ui"),
        ("cd ui && cd .. && ls", "."),
        ("cd $HERE", "?"),
        ("pushd ui", "?"),
        ("for d in a b; do cd $d; done", "?"),
        ("cd", "~"),
    ],
)
def test_where_a_line_goes_is_known_or_said_to_be_unclear(command: str, folder: str | None) -> None:
    assert folder_after(command) == folder


@given(st.lists(st.sampled_from(["a", "..", ".", "/r/s", "~", "-", "$X", "a/b"]), max_size=6))
def test_folders_join_to_one_that_is_known_or_unclear(steps: list[str]) -> None:
    folder = ""
    for step in steps:
        folder = joined(folder, step)
    assert folder == "?" or "$" not in folder


@given(st.text(max_size=80) | st.sampled_from(SECRET_COMMANDS))
def test_any_command_is_read_and_no_secret_comes_out(command: str) -> None:
    shown = " ".join(f"{way.text} {way.head}" for way in ways_in(redact_command(command)))
    assert not any(secret in shown for secret in FAKE_SECRETS.values())


@pytest.mark.parametrize("before", ["", "time ", "timeout 60 ", "env A=1 ", "A=1 ", "nohup "])
@pytest.mark.parametrize("after", ["", " 2>&1", " -q tests/test_a.py", " --port=80"])
@pytest.mark.parametrize(
    "command", ["pytest", "npm run test", "./scripts/test.sh", "uv run pytest", "python -m pytest"]
)
def test_a_plain_command_is_taken_as_the_grammar_reads_it(before: str, command: str, after: str) -> None:
    line = f"{before}{command}{after}"
    assert [one.needed_for_success for one in read(line).reading.invocations] == [True]
    assert [way.is_proven for way in ways_in(line)] == [True]


PIECES = [
    *(
        "pytest",
        "npm",
        "run",
        "test",
        "./scripts/lint.sh",
        "bash",
        "tools/build",
        "cat",
        "src/test",
        "&&",
        "|",
    ),
    *(
        ";",
        "python3.11",
        "-m",
        "'x y'",
        "cd",
        "ui",
        "2>&1",
        "> out",
        "CI=1",
        "py.test",
        "docker-compose",
        "up",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_a_line_whose_quick_look_finds_nothing_has_no_purpose(line: str) -> None:
    if not may_have_purpose(line):
        assert not any(way.purpose for way in commands_in(line))


@pytest.mark.parametrize("line", ["cd ui && ls", "cd ui; ls", "cd ui", "cd ../ui && npm test | tail"])
def test_where_the_usual_line_goes_is_read_without_the_grammar_and_the_same(line: str) -> None:
    assert folder_after(line) == folder_after(f"true && {line}")
