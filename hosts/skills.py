"""The skills of our plugins: each runs one command of `te`, and only when the user asks for it."""

from __future__ import annotations

from typing import NamedTuple


class Skill(NamedTuple):
    """
    One skill.

    Attributes:
        name: how the user asks for it, and the subcommand of `te`.
        description: what the agent shows of it.
        arguments: what may follow; empty when nothing may.
        without: what runs when nothing follows.

    """

    name: str
    description: str
    arguments: str = ""
    without: str = ""


SKILLS = (
    Skill("status", "Show what tokeneconomizer has recorded, redirected and hinted"),
    Skill(
        "config",
        "Show or change the settings of tokeneconomizer",
        "[list | get KEY | set KEY VALUE]",
        "list",
    ),
    Skill(
        "facts",
        "Show what the sessions of this repository found out",
        "[list | show ID | pin ID | retire ID]",
        "list",
    ),
    Skill(
        "prune",
        "Show which tools this repository never uses, or take denied ones back",
        "[status | evidence | restore]",
        "status",
    ),
)


ARGUMENTS = "The user asks for: $ARGUMENTS"
"""Claude Code and Copilot CLI put what the user wrote in the place of the variable."""


def skill_files(te: str) -> dict[str, str]:
    """
    Return the skills of Claude Code and Copilot CLI: path in the plugin's folder -> text.

    Args:
        te: the command line's own command, quoted for a shell.

    """
    return {f"skills/{skill.name}/SKILL.md": _head(skill) + body_of(skill, te, ARGUMENTS) for skill in SKILLS}


def body_of(skill: Skill, te: str, arguments: str) -> str:
    """Return what a skill tells the model; `arguments` is how the agent tells what the user wrote."""
    plain = " ".join(word for word in (te, skill.name, skill.without) if word)
    body = _WITH_ARGUMENTS if skill.arguments else _PLAIN
    return body.format(name=skill.name, plain=plain, te=te, arguments=arguments)


_HEAD = """\
---
name: {name}
description: {description}
{hint}disable-model-invocation: true
---
"""

_PLAIN = """
Run this command and show its output unchanged, without comment:

    {plain}
"""

_WITH_ARGUMENTS = """
{arguments}

Without arguments run the first command; otherwise pass the arguments on to the second one. Show the output
unchanged, without comment:

    {plain}
    {te} {name} <arguments>
"""


def _head(skill: Skill) -> str:
    hint = f'argument-hint: "{skill.arguments}"\n' if skill.arguments else ""
    return _HEAD.format(name=skill.name, description=skill.description, hint=hint)
