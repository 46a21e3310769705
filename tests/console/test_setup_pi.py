"""`te setup pi`: one file of ours in Pi's folder of extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from console_runs import te

from tokeneconomizer.hosts.bridge.rendering import FIRST_WORDS

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home


@pytest.fixture
def agents_home(home: Home) -> Path:
    return home.root.parent / "user"


@pytest.fixture
def extension(agents_home: Path) -> Path:
    return agents_home / ".pi" / "agent" / "extensions" / "tokeneconomizer.ts"


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def test_the_extension_is_written_once_with_this_home_in_it(home: Home, extension: Path) -> None:
    done = te("setup", "pi")
    assert done.status == 0
    assert str(extension) in done.out
    assert f'"home": "{home.root}"' in extension.read_text(encoding="utf-8")
    assert te("setup", "pi").out == ""


@pytest.mark.parametrize("made_before", ["", ".pi", ".pi/agent", ".pi/agent/extensions"])
def test_uninstalling_leaves_what_was_there_before(
    agents_home: Path, extension: Path, made_before: str
) -> None:
    (agents_home / made_before).mkdir(parents=True, exist_ok=True)
    before = files_below(agents_home)
    te("setup", "pi")
    te("setup", "pi")
    assert extension.exists()
    te("setup", "pi", "--uninstall")
    assert files_below(agents_home) == before
    assert "removed already" in te("setup", "pi", "--uninstall").err


def test_what_others_put_there_meanwhile_stays(extension: Path) -> None:
    te("setup", "pi")
    other = extension.with_name("other.ts")
    other.write_text("export default function () {}\n", encoding="utf-8")
    te("setup", "pi", "--uninstall")
    assert other.exists()
    assert not extension.exists()


def test_an_older_copy_of_ours_is_replaced_and_a_file_of_the_users_is_not(extension: Path) -> None:
    extension.parent.mkdir(parents=True)
    extension.write_text(f"{FIRST_WORDS} 0.0.1: an older one\n", encoding="utf-8")
    assert te("setup", "pi").status == 0
    extension.write_text("// mine\n", encoding="utf-8")
    refused = te("setup", "pi")
    assert refused.status != 0
    assert "was not written by this program" in refused.err
    te("setup", "pi", "--uninstall")
    assert extension.read_text(encoding="utf-8") == "// mine\n"


def test_a_dry_run_writes_nothing(agents_home: Path) -> None:
    agents_home.mkdir(exist_ok=True)
    before = files_below(agents_home)
    assert "would change" in te("setup", "pi", "--dry-run").out
    assert files_below(agents_home) == before


FINDINGS = [
    (None, "our extension is not installed"),
    ("// mine\n", "is not ours"),
    (f"{FIRST_WORDS} 0.0.1\n", "another installation of this program wrote"),
]


@pytest.mark.parametrize(("content", "words"), FINDINGS)
def test_doctor_tells_what_is_wrong_with_the_extension(
    extension: Path, content: str | None, words: str
) -> None:
    extension.parent.mkdir(parents=True)
    if content is not None:
        extension.write_text(content, encoding="utf-8")
    assert words in te("doctor").out


def test_doctor_finds_the_extension_and_a_second_copy(extension: Path) -> None:
    te("setup", "pi")
    assert "Pi loads our extension" in te("doctor").out
    extension.with_name("copy.ts").write_bytes(extension.read_bytes())
    assert "a second time" in te("doctor").out


def test_a_folder_that_cannot_be_is_refused_in_words(agents_home: Path) -> None:
    (agents_home / ".pi").mkdir(parents=True)
    (agents_home / ".pi" / "agent").write_text("no folder", encoding="utf-8")
    refused = te("setup", "pi")
    assert refused.status == 1
    assert "Not a directory" in refused.err
