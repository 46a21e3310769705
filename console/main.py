"""
`te`: the table of its commands, none of which is imported before it is called, and its entry point.

`console.failures` is the one place where an exception becomes a message and an exit status.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.environment import shield

shield()

import click  # noqa: E402 - after shield
from click.shell_completion import CompletionItem  # noqa: E402

from tokeneconomizer.console import failures, output  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "te"

COMPLETION_VARIABLE = "_TE_COMPLETE"

COMMANDS: dict[str, tuple[str, str]] = {
    "setup": ("setup", "Install into the agents that are here, or into those named."),
    "status": ("status", "Show what was heard, redirected and hinted."),
    "doctor": ("doctor", "Find what is blind or broken, and say how to mend it."),
    "daemon": ("daemon", "Run, start or stop the background daemon."),
    "config": ("config", "Show and change the settings."),
    "audit": ("audit", "Read the history of events."),
    "facts": ("facts", "Show and judge what sessions found out about a repository."),
    "context": ("context", "Show what really entered the context, or count it."),
    "rebuild": ("rebuild", "Make the views anew from the events."),
    "verdict": ("verdict", "Say what recorded shell calls prove about the tests."),
    "guard": ("guard", "Look at what the loop guard does."),
    "prune": ("prune", "Take tools away from an agent that a repository never uses."),
    "undo": ("undo", "Take back what an event changed in an agent's file."),
    "import": ("import_history", "Read the history in the agents' logs into the store."),
    "ledger": ("ledger", "Show tokens by session, day, repository and model."),
    "demo": ("demo", "Show the main job on a sample session, in a throw-away home."),
    "completion": ("completion", "Print the completion script of a shell."),
}
"""Command -> its module in `console.commands`, and its line in `te --help`."""

ALIASES = {"toolprune": "prune"}
"""Second names, which `te --help` does not list."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Return the command of a name."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command = import_module(f"tokeneconomizer.console.commands.{module}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the commands' lines from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from the table."""
        names = [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted and not ctx.resilient_parsing:
        click.echo(f"{PROGRAM} {output.program_version()}")
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the program's version.",
)
def te() -> None:
    """Keep coding agents out of circles, from an immutable log of their events."""


def run(arguments: Sequence[str]) -> None:
    """
    Run one command line.

    Raises:
        Exception: whatever the command raises; `failures.guarded` knows what to do with it.

    """
    with te.make_context(PROGRAM, list(arguments)) as context:
        te.invoke(context)


def main() -> None:
    """Run `te` and leave with its exit status."""
    wish = os.environ.get(COMPLETION_VARIABLE)
    if wish:
        te.main(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE)
    output.make_streams_tolerant()
    arguments = sys.argv[1:]
    sys.exit(failures.guarded(lambda: run(arguments), arguments))


if __name__ == "__main__":
    main()
