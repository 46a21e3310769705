from __future__ import annotations

from pathlib import Path

import pytest

from tokeneconomizer.hosts.codex.trust import trust_file, trusts
from tokeneconomizer.hosts.log_format import AgentHomes


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({}, "/home/dev/.codex/config.toml"),
        ({"CODEX_HOME": "/elsewhere"}, "/elsewhere/config.toml"),
        ({"CODEX_HOME": ""}, "/home/dev/.codex/config.toml"),
    ],
)
def test_the_users_configuration_tells_it(environment: dict[str, str], path: str) -> None:
    assert trust_file(AgentHomes(Path("/home/dev"), environment)) == Path(path)


@pytest.mark.parametrize(
    ("content", "is_trusted"),
    [
        (b'[projects."/work/app"]\ntrust_level = "trusted"\n', True),
        (b'\xef\xbb\xbf[projects."/work/app"]\ntrust_level = "trusted"\n', True),
        (b'[projects."/work/app"]\ntrust_level = "untrusted"\n', False),
        (b'[projects."/work"]\ntrust_level = "trusted"\n', False),
        (b'projects = "no table"\n', False),
        (b"not = = toml", False),
        (b"\xff\xfe", False),
        (b"", False),
    ],
)
def test_a_folder_is_trusted_where_it_says_so(content: bytes, *, is_trusted: bool) -> None:
    assert trusts(content, {"/work/app", ""}) is is_trusted
