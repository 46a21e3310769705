import subprocess
import sys
from importlib.metadata import version

import click
import pytest
from console_runs import te, te_process

from tokeneconomizer.console.main import COMMANDS
from tokeneconomizer.console.main import te as group
from tokeneconomizer.scheduler.home import Home


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command line loads."""
    program = (
        "import sys\n"
        "from tokeneconomizer.console import failures\n"
        "from tokeneconomizer.console.main import run\n"
        "status = failures.guarded(lambda: run(sys.argv[1:]), sys.argv[1:])\n"
        "sys.stderr.write('\\n'.join(['', *sys.modules]))\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stderr.split())


def test_help_names_every_command_and_imports_none(home: Home) -> None:
    shown = te("--help")
    assert shown.status == 0
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in shown.out
        assert line in shown.out
    assert not {name for name in loaded_by("--help") if name.startswith("tokeneconomizer.console.commands")}
    assert not home.root.exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says_of_itself(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.name == name
    first_line = (command.help or "").partition("\n")[0]
    assert first_line.partition(";")[0].rstrip(".") == COMMANDS[name][1].rstrip(".")


def test_version_is_the_distributions() -> None:
    assert te("--version").out == f"te {version('tokeneconomizer')}\n"


@pytest.mark.parametrize("arguments", [("status",), ("status", "--json")])
@pytest.mark.usefixtures("home")
def test_status_loads_neither_the_event_library_nor_the_daemons(arguments: tuple[str, ...]) -> None:
    heavy = {"eventsourcing", "apscheduler", "structlog", "rich", "asyncio"}
    assert not heavy & {name.partition(".")[0] for name in loaded_by(*arguments)}


def test_names_of_commands_are_completed_without_importing_them() -> None:
    words = {"COMP_WORDS": "te d", "COMP_CWORD": "1", "_TE_COMPLETE": "bash_complete"}
    done = te_process(variables=words)
    assert done.status == 0
    assert done.out.split() == ["plain,doctor", "plain,daemon", "plain,demo"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell: str) -> None:
    shown = te("completion", shell)
    assert shown.status == 0
    assert "_TE_COMPLETE" in shown.out


def test_completion_of_another_shell_is_wrong_usage() -> None:
    assert te("completion", "csh").status == 2
