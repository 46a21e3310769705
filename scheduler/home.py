"""Where all state lies: `$TOKENECONOMIZER_HOME`, else `~/.tokeneconomizer`; folders 0700, files 0600."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HOME_VARIABLE = "TOKENECONOMIZER_HOME"

DEFAULT_FOLDER = ".tokeneconomizer"

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one home."""

    root: Path

    @classmethod
    def from_environment(cls, environment: dict[str, str] | None = None) -> Home:
        """Return the home that the environment names; like the hook client, pass over a relative one."""
        named = Path((os.environ if environment is None else environment).get(HOME_VARIABLE, ""))
        return cls(named if named.is_absolute() else Path.home() / DEFAULT_FOLDER)

    @property
    def events(self) -> Path:
        """The event store."""
        return self.root / "events.db"

    @property
    def views(self) -> Path:
        """The projections, a file each."""
        return self.root / "views"

    @property
    def config(self) -> Path:
        """The user's configuration."""
        return self.root / "config.yaml"

    @property
    def spool(self) -> Path:
        """Payloads that the daemon has yet to store."""
        return self.root / "spool"

    @property
    def refused(self) -> Path:
        """Spooled payloads that cannot be stored, kept for `te doctor`."""
        return self.root / "spool" / "refused"

    @property
    def kept(self) -> Path:
        """The call that is answered and about to be stored; else empty."""
        return self.root / "daemon.kept"

    @property
    def socket(self) -> Path:
        """The daemon's socket; bound and reached by its bare name from within the home."""
        return self.root / "daemon.sock"

    @property
    def lock(self) -> Path:
        """Held by the process that may write events."""
        return self.root / "daemon.lock"

    @property
    def import_lock(self) -> Path:
        """Held by the process that reads the agents' logs into the store."""
        return self.root / "import.lock"

    @property
    def prune_lock(self) -> Path:
        """Held by the process that writes into agents' files of a checkout."""
        return self.root / "prune.lock"

    @property
    def log(self) -> Path:
        """The daemon's log."""
        return self.root / "log" / "daemon.log"

    @property
    def plugins(self) -> Path:
        """The plugin folders that agents load."""
        return self.root / "plugins"

    @property
    def cache(self) -> Path:
        """What can be thrown away and made again: it saves time only."""
        return self.root / "cache"

    @property
    def repositories(self) -> Path:
        """What each repository's sessions are told, by repository and agent."""
        return self.root / "repos"

    @property
    def starts(self) -> Path:
        """Leads from a checkout to what its sessions are told, for the hook client without a daemon."""
        return self.root / "repos" / "starts.json"

    @property
    def installed(self) -> Path:
        """What `te setup` wrote into agents' files, so that exactly that can be removed."""
        return self.root / "installed.json"

    def create(self) -> None:
        """Make the folders, for the user alone."""
        for folder in (self.root, self.views, self.spool, self.log.parent, self.plugins, self.cache):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def key(self) -> bytes:
        """Return the home's secret for keyed hashes; made once, never leaves the home."""
        path = self.root / "key"
        if not path.exists():
            self._make_key(path)
        return path.read_bytes()

    def _make_key(self, path: Path) -> None:
        import secrets  # noqa: PLC0415 - slow to import, needed once

        # Linked into place whole: two processes that start at once must not read a half-written secret.
        draft = path.with_name(f"key.{secrets.token_hex(8)}.draft")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            draft.unlink()
