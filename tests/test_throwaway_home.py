import os
import pwd
import tempfile
from pathlib import Path

from tokeneconomizer.scheduler.home import Home


def test_tests_run_in_a_throwaway_home() -> None:
    real_home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    temporary = Path(tempfile.gettempdir()).resolve()
    for path in (Path.home(), Home.from_environment().root):
        assert path.resolve().is_relative_to(temporary)
        assert real_home not in path.parents
