"""Why a file of the user's was left alone, in a closed set of reasons, and what to do about each."""

from enum import StrEnum
from types import MappingProxyType
from typing import Final

from tokeneconomizer.domain.errors import TokeneconomizerError


class Reason(StrEnum):
    """Every reason for which a write is refused; the values are part of the command line's output."""

    SYMLINK = "symlink"
    NOT_PARSABLE = "not_parsable"
    CHANGED_MEANWHILE = "changed_meanwhile"
    NOT_A_FILE = "not_a_file"
    NOT_WRITABLE = "not_writable"
    TRACKED = "tracked"
    UNTRUSTED = "untrusted"
    UNPROVEN_EDIT = "unproven_edit"
    UNKNOWN_NAME = "unknown_name"
    ACTIVE = "active"
    NO_SPACE = "no_space"


ADVICE: Final = MappingProxyType(
    {
        Reason.SYMLINK: "replace the link by a real file, or let it point inside the folder",
        Reason.NOT_PARSABLE: "correct the file until its agent can read it, then try again",
        Reason.CHANGED_MEANWHILE: "close the program that keeps writing the file, then try again",
        Reason.NOT_A_FILE: "move away what stands in the file's place, then try again",
        Reason.NOT_WRITABLE: "make the file and its folder yours and writable, then try again",
        Reason.TRACKED: "take the file out of git's index, or allow writing to tracked files",
        Reason.UNTRUSTED: "open the folder once in the agent and trust it, then try again",
        Reason.UNPROVEN_EDIT: "make the change by hand, since it could not be proved to touch nothing else",
        Reason.UNKNOWN_NAME: "use one of the names that the agent has",
        Reason.ACTIVE: "wait until the agent's session is over, then try again",
        Reason.NO_SPACE: "free some space on the disk, then try again",
    },
)


class WriteRefused(TokeneconomizerError):
    """A file was left as it was: `reason` says why, `detail` says where, the message also what to do."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{detail}; {ADVICE[reason]}")
        self.reason = reason
        self.detail = detail


class BrokenUndoRecord(TokeneconomizerError):
    """A stored record of a write cannot be read back."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the record of what was written is broken: {what}; remove the entries by hand")
