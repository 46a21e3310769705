"""`te prune apply --now` and `restore` where something else stands in the file's place or on its way."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from console_runs import COMMAND, te
from deny_list_runs import ONE_NAME, Checkout, everything_below

from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.writers import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

AS_ROOT = os.geteuid() == 0
OTHER_USER = 12_345
WITH_FOLDER = [host for host in TARGETS if "/" in TARGETS[host].file]


def content(host: str) -> bytes:
    return b'model = "m"\n' if host == "codex" else b'{"a": 1}\n'


def prune(verb: str, checkout: Checkout, *more: str) -> dict[str, object]:
    names = ("--deny", ONE_NAME[checkout.host], "--now") if verb == "apply" else ()
    done = te("prune", verb, "--host", checkout.host, "--checkout", str(checkout.path), *names, *more)
    assert done.status == 0
    answer = json.loads(done.out)
    assert isinstance(answer, dict)
    return answer


def git(folder: Path, *words: str) -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "protocol.file.allow=always")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, env=environment, capture_output=True).stdout


def written_and_taken_back(checkout: Checkout, *more: str) -> None:
    outside = checkout.folder / "outside"
    was, was_outside = everything_below(checkout.path), everything_below(outside)
    assert prune("apply", checkout, *more)["added"] == [ONE_NAME[checkout.host]]
    assert everything_below(outside) == was_outside
    assert prune("restore", checkout)["removed"] == [ONE_NAME[checkout.host]]
    assert everything_below(checkout.path) == was
    assert everything_below(outside) == was_outside


def left_alone(checkout: Checkout, reason: str) -> None:
    was = everything_below(checkout.folder / "outside"), everything_below(checkout.path)
    answer = prune("apply", checkout)["refused"]
    assert isinstance(answer, dict)
    assert answer["reason"] == reason
    assert not prune("restore", checkout)["written"]
    assert (everything_below(checkout.folder / "outside"), everything_below(checkout.path)) == was


@pytest.fixture
def place(home: Home) -> Callable[[str], Checkout]:
    """Give a checkout of an agent, beside a folder that is none of its business."""
    folder = home.root.parent
    (folder / "outside").mkdir()
    (folder / "outside" / "theirs").write_bytes(b'{"outside": 1}')
    return lambda host: Checkout(folder, host)


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


OCCUPIED: dict[str, tuple[str, Callable[[Path, Path], object]]] = {
    "a pipe": ("not_a_file", lambda file, _outside: os.mkfifo(file)),
    "a socket": ("not_a_file", lambda file, _outside: bound(file)),
    "a folder": ("not_a_file", lambda file, _outside: file.mkdir()),
    "a link to itself": ("not_a_file", lambda file, _outside: file.symlink_to(file.name)),
    "a link out": ("symlink", lambda file, outside: file.symlink_to(outside / "theirs")),
    "a relative link out": (
        "symlink",
        lambda file, outside: file.symlink_to(os.path.relpath(outside / "theirs", file.parent)),
    ),
    "a link to nothing outside": ("symlink", lambda file, outside: file.symlink_to(outside / "nothing")),
    "a link to a device": ("symlink", lambda file, _outside: file.symlink_to("/dev/null")),
}


@pytest.mark.parametrize(("reason", "occupy"), OCCUPIED.values(), ids=OCCUPIED)
@pytest.mark.parametrize("host", TARGETS)
def test_what_is_no_file_of_the_checkouts_is_left(
    host: str, reason: str, occupy: Callable[[Path, Path], object], place: Callable[[str], Checkout]
) -> None:  # S6.6
    checkout = place(host)
    checkout.file.parent.mkdir(parents=True, exist_ok=True)
    occupy(checkout.file, checkout.folder / "outside")
    left_alone(checkout, reason)


FOLDERS: dict[str, tuple[str, Callable[[Path, Path], object]]] = {
    "a link out": ("symlink", lambda folder, outside: folder.symlink_to(outside)),
    "a link to itself": ("not_a_file", lambda folder, _outside: folder.symlink_to(folder.name)),
    "a file": ("not_a_file", lambda folder, _outside: folder.write_bytes(b"x")),
    "a pipe": ("not_a_file", lambda folder, _outside: os.mkfifo(folder)),
    "read-only": ("not_writable", lambda folder, _outside: folder.mkdir(0o555)),
}


@pytest.mark.parametrize(("reason", "occupy"), FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize("host", WITH_FOLDER)
def test_what_is_no_folder_of_the_checkouts_is_left(
    host: str, reason: str, occupy: Callable[[Path, Path], object], place: Callable[[str], Checkout]
) -> None:
    checkout = place(host)
    occupy(checkout.path / TARGETS[host].file.partition("/")[0], checkout.folder / "outside")
    left_alone(checkout, reason)


@pytest.mark.parametrize("host", TARGETS)
def test_links_within_the_checkout_are_followed_and_stay(host: str, place: Callable[[str], Checkout]) -> None:
    checkout = place(host)
    (checkout.path / "kept").mkdir()
    (checkout.path / "kept" / "real").write_bytes(content(host))
    (checkout.path / "second").symlink_to("kept/real")
    checkout.file.parent.mkdir(parents=True, exist_ok=True)
    checkout.file.symlink_to(checkout.path / "second")
    written_and_taken_back(checkout)


@pytest.mark.parametrize("host", TARGETS)
def test_another_name_of_the_same_file_outside_keeps_its_content(
    host: str, place: Callable[[str], Checkout]
) -> None:
    checkout = place(host)
    checkout.write(content(host))
    os.link(checkout.file, checkout.folder / "outside" / "second")
    written_and_taken_back(checkout)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755, 0o2755, 0o4755])
@pytest.mark.parametrize("host", TARGETS)
def test_any_mode_stays(host: str, mode: int, place: Callable[[str], Checkout]) -> None:
    checkout = place(host)
    checkout.write(content(host))
    checkout.file.chmod(mode)
    written_and_taken_back(checkout)


@pytest.mark.parametrize("mode", [0o444, 0o000])
@pytest.mark.parametrize("host", TARGETS)
def test_a_file_marked_as_read_only_is_left(host: str, mode: int, place: Callable[[str], Checkout]) -> None:
    checkout = place(host)
    checkout.write(content(host))
    checkout.file.chmod(mode)
    answer = prune("apply", checkout)["refused"]
    assert isinstance(answer, dict)
    assert answer["reason"] == "not_writable"


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a file to another user")
@pytest.mark.parametrize("host", TARGETS)
def test_a_file_of_another_user_is_left(host: str, place: Callable[[str], Checkout]) -> None:
    checkout = place(host)
    checkout.write(content(host))
    os.chown(checkout.file, OTHER_USER, -1)
    left_alone(checkout, "not_writable")


def rights_of_one_more_user() -> bytes:
    """As Linux keeps them: the owner, one more user, the group, the most that these have, all others."""
    entries = (
        (1, 6, 2**32 - 1),
        (2, 4, OTHER_USER),
        (4, 4, 2**32 - 1),
        (16, 4, 2**32 - 1),
        (32, 0, 2**32 - 1),
    )
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.mark.skipif(sys.platform != "linux", reason="attributes are attached by Linux's calls")
@pytest.mark.parametrize(
    ("attribute", "value"),
    [("user.note", b"mine"), (whole_file.ACCESS_LIST, rights_of_one_more_user())],
)
@pytest.mark.parametrize("host", TARGETS)
def test_what_is_attached_to_the_file_stays(
    host: str, attribute: str, value: bytes, place: Callable[[str], Checkout]
) -> None:
    checkout = place(host)
    checkout.write(content(host))
    try:
        os.setxattr(checkout.file, attribute, value)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            pytest.skip("this file system attaches nothing")
        raise
    written_and_taken_back(checkout)


NAMES = [
    "with space",
    "new\nline",
    "ключ é",
    "a\"b'c",
    "back\\slash",
    "-dash",
    "*glob[a]?",
    "#hash",
    "trail ",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("host", ["claude_code"])
def test_a_checkout_of_any_name_is_taken(host: str, name: str, place: Callable[[str], Checkout]) -> None:
    checkout = place(host)
    git(checkout.path, "init", "-q")
    checkout.path = checkout.path.rename(checkout.folder / name)
    checkout.file = checkout.path / TARGETS[host].file
    written_and_taken_back(checkout)


@pytest.mark.parametrize("name", [name for name in NAMES if "\n" not in name])
def test_a_folder_of_any_name_is_kept_out_of_git(name: str, place: Callable[[str], Checkout]) -> None:
    checkout = place("claude_code")
    git(checkout.path, "init", "-q")
    inner = checkout.path / name
    inner.mkdir()
    (inner / "theirs").write_bytes(b"")
    git(checkout.path, "add", ".")
    git(checkout.path, "commit", "-qm", "first")
    checkout.path, checkout.file = inner, inner / TARGETS["claude_code"].file
    assert prune("apply", checkout)["written"]
    assert git(inner, "status", "--short") == b""


@pytest.mark.parametrize("kind", ["worktree", "submodule", "apart"])
@pytest.mark.parametrize("host", TARGETS)
def test_git_folders_elsewhere_are_used_as_git_does(
    host: str, kind: str, place: Callable[[str], Checkout]
) -> None:
    checkout = place(host)
    other = checkout.folder / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    if kind == "apart":
        git(checkout.path, "init", "-q", "--separate-git-dir", str(checkout.folder / "apart"))
    elif kind == "worktree":
        checkout.path.rmdir()
        git(other, "worktree", "add", "-q", str(checkout.path))
    else:
        git(checkout.folder, "init", "-q")
        checkout.path.rmdir()
        git(checkout.folder, "submodule", "add", "-q", str(other), "checkout")
    written_and_taken_back(checkout)


def relinked(file: Path, outside: Path) -> None:
    file.unlink()
    file.symlink_to(outside / "theirs")


def moved(git_folder: Path, outside: Path) -> None:
    shutil.move(git_folder, outside / "moved")
    git_folder.symlink_to(outside / "moved")


GIT_LISTS: dict[str, tuple[str, Callable[[Path, Path], object]]] = {
    "read-only": ("not_writable", lambda git_folder, _: (git_folder / "info" / "exclude").chmod(0o444)),
    "a link out": ("symlink", lambda git_folder, outside: relinked(git_folder / "info" / "exclude", outside)),
    "Latin-1": (
        "not_parsable",
        lambda git_folder, _: (git_folder / "info" / "exclude").write_bytes(b"\xe9\n"),
    ),
    "beside a git folder that is a link": ("symlink", moved),
    "below a pattern that wins": (
        "unproven_edit",
        lambda git_folder, _: (git_folder.parent / ".gitignore").write_text("!*.json\n!*.toml\n"),
    ),
}


@pytest.mark.parametrize(("reason", "spoil"), GIT_LISTS.values(), ids=GIT_LISTS)
@pytest.mark.parametrize("host", TARGETS)
def test_that_a_file_cannot_be_kept_out_of_git_is_told(
    host: str, reason: str, spoil: Callable[[Path, Path], object], place: Callable[[str], Checkout]
) -> None:
    checkout = place(host)
    git(checkout.path, "init", "-q")
    spoil(checkout.path / ".git", checkout.folder / "outside")
    was = everything_below(checkout.folder / "outside")
    done = te(
        *("prune", "apply", "--host", host, "--checkout", str(checkout.path)),
        *("--deny", ONE_NAME[host], "--now"),
    )
    assert json.loads(done.out)["written"]
    assert f".git/info/exclude is left as it was ({reason})" in done.err or reason == "unproven_edit"
    (line,) = json.loads(te("prune", "status", "--json").out)
    assert (line["state"], line["written"], line["refused"]["reason"]) == (
        "written",
        [ONE_NAME[host]],
        reason,
    )
    assert reason in te("status").out
    assert everything_below(checkout.folder / "outside") == was


@pytest.mark.parametrize("host", TARGETS)
def test_a_full_disk_below_our_home_is_a_refusal(
    host: str, place: Callable[[str], Checkout], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = place(host)
    checkout.write(content(host))

    def full(*_: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tokeneconomizer.scheduler.untool_record.write_whole", full)
    left_alone(checkout, "no_space")


SECOND_NAME = {"codex": "image_media", "opencode": "task"}


@pytest.mark.parametrize("host", SECOND_NAME)
def test_commands_at_the_same_time_lose_nothing(host: str, place: Callable[[str], Checkout]) -> None:
    checkout = place(host)
    names = (ONE_NAME[host], SECOND_NAME[host])
    on = ("--host", host, "--checkout", str(checkout.path))
    running = [
        subprocess.Popen(
            [*COMMAND, "prune", "apply", *on, "--deny", name, "--now"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for name in (*names, *names)
    ]
    answers = [json.loads(process.communicate()[0]) for process in running]
    assert sorted(name for answer in answers for name in answer["added"]) == sorted(names)
    assert sorted(prune("restore", checkout)["removed"]) == sorted(names)  # type: ignore[call-overload]
    assert everything_below(checkout.path) == {}
