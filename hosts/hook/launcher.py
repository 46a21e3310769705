"""What an agent calls: puts its own folder on the path, so that the client itself is loaded compiled."""

import posix
import sys

TYPE_CHECKING = False

try:
    # -I leaves this folder out of the path and -S leaves out site-packages.
    sys.path.insert(0, __file__.rpartition("/")[0])
    if TYPE_CHECKING:
        from tokeneconomizer.hosts.hook.te_hook_core import main
    else:
        from te_hook_core import main
    main()
except BaseException:
    # Only a half-replaced installation gets here: main never raises and never returns.
    try:
        posix.write(1, b"" if "PreCompact" in sys.argv else b"{}")
    finally:
        posix._exit(0)  # noqa: SLF001 - os._exit, without importing os
