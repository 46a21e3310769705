from __future__ import annotations

import json
import re

import pytest

from tokeneconomizer.hosts.bridge.rendering import Installation, is_ours, render
from tokeneconomizer.hosts.hook.te_hook_core import ENVIRONMENT_NAMES, PROGRAM_VERSION

INSTALLATION = Installation(
    host="pi", via="extension", home='/home/a "b"\\c/.tokeneconomizer', daemon=["/opt/python", "-m", "daemon"]
)
EXPORTS = {
    "opencode/plugin.ts": "export default {",
    "pi/extension.ts": "export default function (pi: Pi): void {",
}
PARTS = list(EXPORTS)


@pytest.mark.parametrize("part", PARTS)
def test_one_file_needs_no_other_and_has_the_agents_one_export(part: str) -> None:
    text = render(part, INSTALLATION).decode()

    assert set(re.findall(r'^import .* from "([a-z]+:)?', text, re.MULTILINE)) == {"node:"}
    assert re.findall(r"^export .*", text, re.MULTILINE) == [EXPORTS[part]]
    assert "declare const" not in text


@pytest.mark.parametrize("part", PARTS)
def test_the_values_are_filled_in(part: str) -> None:
    text = render(part, INSTALLATION).decode()

    (line,) = re.findall(r"^const INSTALLED: Installed = (.*);$", text, re.MULTILINE)
    assert json.loads(line) == {
        "host": "pi",
        "via": "extension",
        "version": PROGRAM_VERSION.decode(),
        "home": INSTALLATION.home,
        "daemon": INSTALLATION.daemon,
        "environmentNames": [name.decode() for name in ENVIRONMENT_NAMES],
    }


@pytest.mark.parametrize(
    ("content", "ours"),
    [(render(PARTS[0], INSTALLATION), True), (b"", False), (b"export default function () {}", False)],
)
def test_our_own_file_is_known_by_its_first_line(content: bytes, ours: bool) -> None:
    assert is_ours(content) is ours
