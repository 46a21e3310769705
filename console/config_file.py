"""Changing `config.yaml`: checked as a whole, written whole, and told to whoever may store it as an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import BadSetting, DaemonRunning, TokeneconomizerError
from tokeneconomizer.scheduler import configuration, control
from tokeneconomizer.scheduler.sending import submit
from tokeneconomizer.writers.whole_file import OWN_FILE_MODE, Rights, make_own_folder, replace_whole

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.domain.settings import Setting, Value
    from tokeneconomizer.scheduler.home import Home


@dataclass(frozen=True, slots=True)
class Layer:
    """
    Where a value is set: for a repository, for an agent, or everywhere.

    Attributes:
        host: the agent, or empty.
        repository: the repository's identity, or empty.

    """

    host: str = ""
    repository: str = ""

    def __str__(self) -> str:
        if self.repository:
            return f"repository {self.repository}"
        return f"host {self.host}" if self.host else "everywhere"


def assign(home: Home, setting: Setting, value: Value | None, layer: Layer) -> bool:
    """
    Set a value, or remove it when it is None.

    Returns:
        False when the file said so already.

    Raises:
        BadSetting: the setting is not to be had there, or the file would be refused for another line.

    """
    # A user may keep the file elsewhere and link to it: the link stays.
    path = home.config.resolve()
    before = _read(path)
    after = configuration.changed(before, setting, value, host=layer.host, repository=layer.repository)
    configuration.parse(after)
    if after == before:
        return False
    make_own_folder(path.parent)

    def refuse_if_changed() -> None:
        if _read(path) != before:
            message = f"{path} was changed by another program meanwhile: try again"
            raise BadSetting(message)

    rights = Rights.exactly(OWN_FILE_MODE)
    replace_whole(path, after.encode(), rights, last_look=refuse_if_changed)
    return True


def announce(home: Home) -> str:
    """Have the change stored as an event; return what kept it from being, or an empty text."""
    try:
        reply = submit(home, {"name": control.POLICIES_CHANGED})
    except DaemonRunning:
        return "the daemon does not answer now; it takes the value when it does"
    except TokeneconomizerError as error:
        return str(error)
    return str(reply.get("error", ""))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    if len(data) > configuration.CONFIG_BYTES_MAX:
        message = f"{path} is larger than {configuration.CONFIG_BYTES_MAX} bytes: remove what is no setting"
        raise BadSetting(message)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 ({error.reason}): save it as UTF-8, then try again"
        raise BadSetting(message) from error
