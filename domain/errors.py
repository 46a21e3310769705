"""
The errors that we raise on purpose.

    TokeneconomizerError            something is wrong that we can name: exit status 1
    ├── BadPayload                  a hook's bytes are not what its agent sends
    ├── BadSetting                  an unknown key or a value that its setting does not take
    ├── BadLabel                    a labelled turn is not in a form that can be scored
    ├── BadAccounting               a record, snapshot or usage that the accounting contract does not take
    ├── StoreTooNew                 the event store was written by a newer program
    ├── StoreDamaged                the event store cannot be read
    ├── DaemonRunning               another process holds this home
    └── DaemonUnreachable           no daemon answers, and the command needs one

`tokeneconomizer.writers.errors.WriteRefused` is the one for files that the user owns.
"""


class TokeneconomizerError(Exception):
    """What is wrong, in one sentence, and what to do next."""


class BadPayload(TokeneconomizerError):
    """A hook's payload cannot be read as its agent's."""


class BadSetting(TokeneconomizerError):
    """A configuration key is unknown, or its value is refused."""


class BadLabel(TokeneconomizerError):
    """A label of a turn misses a field, or says what is not understood."""


class BadAccounting(TokeneconomizerError):
    """What a runtime hands in does not keep the accounting contract."""


class StoreTooNew(TokeneconomizerError):
    """The store's schema number is above the program's."""


class StoreDamaged(TokeneconomizerError):
    """SQLite cannot read the store."""


class DaemonRunning(TokeneconomizerError):
    """The home's lock is held by another process."""


class DaemonUnreachable(TokeneconomizerError):
    """The daemon's socket gives no answer."""
