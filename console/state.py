"""What commands ask of the home that the environment names: settings, views, places."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.console import output
from tokeneconomizer.domain.errors import BadSetting, TokeneconomizerError
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.projections.errors import ViewUnusable
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.view import said_in_words
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.commands import Place
    from tokeneconomizer.projections.view import Projection, View

EVENTS_WITHOUT_BAR = 20_000
"""They are folded in half a second; whoever waits longer wants to see that something moves."""


def configuration_in_force() -> Configuration:
    """
    Return the user's settings.

    Raises:
        BadSetting: the file is refused; the message says what to mend.

    """
    home = Home.from_environment()
    if not home.config.exists():
        return Configuration()
    # Loading what reads YAML takes longer than all that `te status` reads.
    from tokeneconomizer.scheduler import configuration  # noqa: PLC0415

    return configuration.read(home.config)


def configuration_or_problem() -> tuple[Configuration, str]:
    """Return the settings and an empty text, or the defaults and why the file is refused."""
    try:
        return configuration_in_force(), ""
    except BadSetting as error:
        return Configuration(), str(error)


def place_of_folder(folder: Path) -> Place:
    """
    Return the repository and checkout of a folder, as the daemon tells them.

    Raises:
        TokeneconomizerError: the folder is relative to a working folder that was deleted.

    """
    from tokeneconomizer.scheduler.places import CEILING_VARIABLE, place_of  # noqa: PLC0415 - rarely needed

    try:
        return place_of(str(folder), str(Path.home()), os.environ.get(CEILING_VARIABLE, ""))
    except FileNotFoundError as error:
        message = "the working folder is gone: go to another one, then try again"
        raise TokeneconomizerError(message) from error


@contextmanager
def view_of(home: Home, projection: Projection) -> Iterator[tuple[View, str]]:
    """
    Open a projection's view, brought up to date as far as the store can be read.

    Yields:
        the view, and why it is not up to date, or an empty text.

    Raises:
        ViewUnusable: the view's file cannot be read or written, or is of another version and has not what is
            asked for.

    """
    home.create()
    with EventLog(home.events) as log, open_view(home.views, projection) as view:
        trouble = _outdated(view) if view.is_outdated else ""
        try:
            _catch_up(view, log)
        except TokeneconomizerError as error:
            trouble = str(error)
        try:
            with said_in_words(view.path, projection):
                yield view, trouble
        except ViewUnusable as error:
            if view.is_outdated:
                raise ViewUnusable(_outdated(view)) from error
            raise


def _outdated(view: View) -> str:
    name = view.projection.NAME
    return (
        f"the view `{name}` was made by another version and is being rebuilt by the daemon: try again in a "
        f"moment, or run `te rebuild {name}`"
    )


def _catch_up(view: View, log: EventLog) -> None:
    behind = log.last_position() - view.position()
    if behind < EVENTS_WITHOUT_BAR:
        view.catch_up(log)
        return
    with output.positions_shown("reading events", view.position(), view.position() + behind) as tell:
        view.catch_up(log, on_progress=tell)
