"""The plugin folder for Copilot CLI, as values."""

from __future__ import annotations

import json
import shlex

from tokeneconomizer.hosts.copilot import payload, plugin
from tokeneconomizer.hosts.skills import SKILLS

HOOK, TE = ["/a b/python", "-I", "-S", "/x/launcher.py"], ["/a b/python", "-m", "te"]
FILES = plugin.plugin_files(HOOK, TE)


def test_the_manifest_names_a_hooks_file_of_its_own() -> None:
    manifest = json.loads(FILES["tokeneconomizer/.github/plugin/plugin.json"])
    assert f"tokeneconomizer/{manifest['hooks']}" in FILES
    assert "tokeneconomizer/hooks/hooks.json" not in FILES
    (listed,) = json.loads(FILES[".github/plugin/marketplace.json"])["plugins"]
    assert listed["source"] == "./tokeneconomizer"


def test_each_hook_that_is_stored_is_registered_and_none_that_could_deny_a_call() -> None:
    hooks = json.loads(FILES["tokeneconomizer/hooks/copilot.json"])["hooks"]

    assert set(hooks) == set(payload.STORED_EVENTS)
    assert "preToolUse" not in hooks
    for event, (registration,) in hooks.items():
        words = shlex.split(registration["bash"])
        assert words == ["exec", *HOOK, "--host", "copilot", "--event", event, "--via", "plugin"]


def test_the_skills_run_te_and_are_never_the_models_own_idea() -> None:
    for skill in SKILLS:
        text = FILES[f"tokeneconomizer/skills/{skill.name}/SKILL.md"]
        assert f"'/a b/python' -m te {skill.name}" in text
        assert "disable-model-invocation: true" in text
    assert {skill.name for skill in SKILLS} == {"status", "config", "facts", "prune"}
