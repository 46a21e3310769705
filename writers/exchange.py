"""Two names of one folder exchanged in one step, by the system call that Python does not offer."""

import ctypes
import errno
import os
import sys
from typing import Final

_EXCHANGE: Final = 2
"""RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS."""
_FUNCTION: Final = "renameatx_np" if sys.platform == "darwin" else "renameat2"
_UNSUPPORTED: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def exchange(folder: int, one: str, other: str) -> bool:
    """
    Let two entries of an open folder change places, links as themselves.

    Returns:
        False where the system or the file system cannot.

    """
    call = getattr(ctypes.CDLL(None, use_errno=True), _FUNCTION, None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if call(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), one)
