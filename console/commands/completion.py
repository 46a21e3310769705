"""`te completion`: the script that teaches a shell to complete `te`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(name="completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    # The script holds the program's name, which only the entry point knows.
    from tokeneconomizer.console.main import COMPLETION_VARIABLE, PROGRAM, te  # noqa: PLC0415

    kind = get_completion_class(shell)
    if kind is None:
        message = f"there is no completion for {shell}: choose bash, zsh or fish"
        raise click.ClickException(message)
    click.echo(kind(te, {}, PROGRAM, COMPLETION_VARIABLE).source())
