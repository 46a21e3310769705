"""Checks of the agents: whether our hooks are registered with each, and whether side calls can be made."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tokeneconomizer.console import daemon_process
from tokeneconomizer.console.checks import Check, Finding, Patient, broken, ok, problem, warning
from tokeneconomizer.console.installations.json_members import json_object
from tokeneconomizer.console.installations.table import INSTALLATIONS
from tokeneconomizer.console.state import configuration_or_problem
from tokeneconomizer.hosts.side_call import Question
from tokeneconomizer.scheduler.side_calls import CALLERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.console.installations.shape import Installation


def look_at_registration(patient: Patient) -> Iterator[Finding]:
    """Whether each agent that is here loads what `te setup` installs."""
    agents = [make(patient.home, patient.user_home, patient.environment) for make in INSTALLATIONS.values()]
    # Side by side: one that no package file tells the version of is started, which may take it a second.
    with ThreadPoolExecutor(len(agents)) as threads:
        for found in threads.map(_findings_of, agents):
            yield from found


def _findings_of(agent: Installation) -> list[Finding]:
    try:
        return list(agent.look_at())
    except Exception as error:  # noqa: BLE001 - one agent that cannot be looked at must not hide the others
        return [broken(error, f"{agent.TITLE}: ")]


def look_at_installed(patient: Patient) -> Iterator[Finding]:
    """Whether the record of what `te setup` wrote can be read."""
    path = patient.home.installed
    if not path.exists():
        return
    if json_object(path) is None:
        yield problem(
            f"{path} cannot be read: entries of ours will be removed by their names, not byte for byte",
            "run `te setup --uninstall`, then `te setup`, which records them anew",
        )
    else:
        yield ok("what `te setup` wrote is on record")


def look_at_judge(patient: Patient) -> Iterator[Finding]:
    """Whether the judge, where it is switched on, can be asked, and was heard."""
    heard = daemon_process.state_of(patient.home).judge_problem
    yield from _look_at_side_calls(patient, "judge", ("judge", "auto", "off"), heard)


def look_at_proposer(patient: Patient) -> Iterator[Finding]:
    """Whether an agent that is to propose facts can be asked, and was heard."""
    heard = daemon_process.state_of(patient.home).proposer_problem
    yield from _look_at_side_calls(patient, "proposer", ("microskills", "full", "envfacts"), heard)


def _look_at_side_calls(
    patient: Patient, name: str, setting: tuple[str, str, str], heard: str | None
) -> Iterator[Finding]:
    """Look at what makes side calls while a key has a value; `setting` is both, and the value without."""
    configuration, _ = configuration_or_problem()
    key, on, off = setting
    layers = (configuration.everywhere, *configuration.hosts.values(), *configuration.repositories.values())
    if all(layer.get(key, off) != on for layer in layers):
        return
    programs = {caller.command_line(Question("", "")).program for caller in CALLERS.values()}
    if not any(shutil.which(program, path=patient.environment.get("PATH")) for program in programs):
        named = ", ".join(f"`{program}`" for program in sorted(programs))
        yield warning(
            f"the {name} is switched on, and of {named} none is in this PATH, so that it may not be asked",
            f"install one of them, or `te config set {key} {off}`",
        )
    if heard:
        yield warning(f"the {name} was not heard: {heard}", "nothing else depends on it; see the log")
    else:
        yield ok(f"the {name} is switched on")


AGENT_CHECKS = (
    Check("agents", ("plugins",), look_at_registration),
    Check("setup", ("installed",), look_at_installed),
    Check("judge", ("config", "socket"), look_at_judge),
    Check("proposer", ("config", "socket"), look_at_proposer),
)
