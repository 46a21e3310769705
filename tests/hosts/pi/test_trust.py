from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pi.trust import trust_file, trusts

DECISIONS = [
    ({"/work/project": True}, True),
    ({"/work/project": False}, False),
    ({"/work": True}, True),
    ({"/work": True, "/work/project": False}, False),
    ({"/work": False, "/work/project": True}, True),
    ({"/work/project": None, "/work": True}, True),
    ({"/work/project": "yes"}, False),
    ({"/work/proj": True}, False),
    ({}, False),
    ([], False),
]


@pytest.mark.parametrize(("decisions", "trusted"), DECISIONS)
def test_the_decision_on_the_nearest_folder_above_holds(decisions: object, trusted: bool) -> None:
    assert trusts(json.dumps(decisions).encode(), {"/work/project"}) is trusted


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b'{"": true}'])
def test_what_cannot_be_read_trusts_nothing(content: bytes) -> None:
    assert not trusts(content, {"/work/project", ""})


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("", "/home/dev/.pi/agent/trust.json"),
        ("/opt/pi", "/opt/pi/trust.json"),
        ("~/pi", "/home/dev/pi/trust.json"),
    ],
)
def test_the_file_lies_in_pis_own_folder(variable: str, file: str) -> None:
    homes = AgentHomes(Path("/home/dev"), {"PI_CODING_AGENT_DIR": variable})
    assert str(trust_file(homes)) == file
