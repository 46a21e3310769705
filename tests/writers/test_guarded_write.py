import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokeneconomizer.writers.applied import Applied
from tokeneconomizer.writers.edits import JSON, AddElement, Document, Edit, RemoveMember, SetMember
from tokeneconomizer.writers.errors import ADVICE, Reason, WriteRefused
from tokeneconomizer.writers.guarded_write import KILL_POINTS, Surroundings, restore, write_edits
from tokeneconomizer.writers.guards import MAX_FILE_BYTES, Place
from tokeneconomizer.writers.json_edits import apply
from tokeneconomizer.writers.splices import Splice
from tokeneconomizer.writers.strict_json import STRICT_JSON, StrictJson
from tokeneconomizer.writers.whole_file import Disk

USERS = b'{\r\n\t"big": 9007199254740993,\r\n\t"s": "\\u0041"\r\n}'
EDITS: list[Edit] = [
    SetMember(("extraKnownMarketplaces", "shop"), {"source": {"source": "directory", "path": "/p"}}),
    SetMember(("enabledPlugins", "ours@shop"), value=True),
]
AS_ROOT = os.geteuid() == 0


class Killed(BaseException):
    pass


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def file(home: Path) -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(USERS)
    return path


def tree(folder: Path) -> dict[str, bytes | str]:
    """Give all there is below a folder: the bytes of files, where links lead, folders as such."""
    found: dict[str, bytes | str] = {}
    for path in folder.rglob("*"):
        kind = f"-> {path.readlink()}" if path.is_symlink() else "folder"
        found[str(path.relative_to(folder))] = (
            path.read_bytes() if path.is_file() and kind == "folder" else kind
        )
    return found


def at(point: str, action: Callable[[], object], times: int = 1) -> Surroundings:
    """Do something at a named point, as often as told."""
    left = [action] * times

    def checkpoint(name: str) -> None:
        if name == point and left:
            left.pop()()

    return Surroundings(disk=Disk(checkpoint=checkpoint))


def refusal(place: Place, surroundings: Surroundings | None = None) -> WriteRefused:
    with pytest.raises(WriteRefused) as refused:
        write_edits(place, EDITS, STRICT_JSON, surroundings or Surroundings())
    return refused.value


def written(place: Place, edits: Sequence[Edit] = tuple(EDITS)) -> Applied:
    outcome = write_edits(place, edits, STRICT_JSON)
    assert outcome.written
    assert outcome.applied is not None
    return Applied.from_json(outcome.applied.to_json())


def test_every_reason_has_its_advice() -> None:
    assert set(ADVICE) == set(Reason)


def test_an_edit_is_written_and_taken_back_byte_for_byte(home: Path, file: Path) -> None:  # S6.7
    before = tree(home)
    applied = written(Place(home, file))
    assert file.read_bytes() == apply(USERS.decode(), EDITS).encode()
    assert restore(Place(home, file), applied, STRICT_JSON).written
    assert tree(home) == before


def test_an_edit_that_is_there_already_writes_nothing(home: Path, file: Path) -> None:  # S2.10
    written(Place(home, file))
    before = file.stat()
    outcome = write_edits(Place(home, file), EDITS, STRICT_JSON)
    assert (outcome.written, outcome.applied) == (False, None)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    "before",
    [
        *(b"", b"\n", b"\xef\xbb\xbf", b"{}", b"{ }", b"{\n}", b"{\r\n}\r\n", b"{\t}\n"),
        *(b'{"a":1}', b'{"a": 1}', b'\xef\xbb\xbf{\n"a": 1\n}\n', b'{"enabledPlugins" :{ }}', USERS),
        b'{"enabledPlugins": {"ours@shop": false, "b": true}}',
    ],
)
def test_any_layout_comes_back_byte_for_byte(home: Path, file: Path, before: bytes) -> None:
    file.write_bytes(before)
    applied = written(Place(home, file))
    restore(Place(home, file), applied, STRICT_JSON)
    assert file.read_bytes() == before


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from("abc"), st.dictionaries(st.sampled_from("xyz"), st.integers())),
    st.lists(
        st.builds(SetMember, st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), st.integers())
        | st.builds(RemoveMember, st.tuples(st.sampled_from("abc"))),
        min_size=2,
        max_size=5,
    ),
    st.integers(0, 5),
)
def test_the_joined_records_of_several_writes_give_the_first_bytes(
    home: Path, value: Document, edits: list[Edit], cut: int
) -> None:
    place = Place(home, home / "settings.json")
    text = apply("{ }\t", [SetMember((key,), inner) for key, inner in value.items()])
    place.file.write_text(text)
    records = [write_edits(place, part, STRICT_JSON).applied for part in (edits[:cut], edits[cut:])]
    made = [record for record in records if record is not None]
    if made:
        joined = made[0].then(made[1]) if made[1:] else made[0]
        restore(place, joined, STRICT_JSON)
    assert place.file.read_text() == text


def test_a_missing_file_is_made_and_removed_again_with_its_folders(home: Path) -> None:
    place = Place(home, home / ".claude" / "deep" / "settings.json")
    applied = written(place)
    assert place.file.read_text().startswith('{\n  "extraKnownMarketplaces": {\n')
    assert place.file.read_text().endswith("}\n")
    assert restore(place, applied, STRICT_JSON).written
    assert tree(home) == {}


def test_a_folder_we_made_stays_if_something_else_is_in_it_now(home: Path) -> None:
    place = Place(home, home / ".claude" / "settings.json")
    applied = written(place)
    (home / ".claude" / "notes").write_bytes(b"theirs")
    restore(place, applied, STRICT_JSON)
    assert tree(home) == {".claude": "folder", ".claude/notes": b"theirs"}


def test_no_record_makes_us_remove_the_root_or_what_is_above_it(home: Path) -> None:
    place = Place(home, home / ".claude" / "settings.json")
    restore(place, replace(written(place), created_folders=9), STRICT_JSON)
    assert tree(home.parent) == {"home": "folder"}


def test_a_folder_that_was_there_stays(home: Path) -> None:
    (home / ".claude").mkdir()
    place = Place(home, home / ".claude" / "settings.json")
    restore(place, written(place), STRICT_JSON)
    assert tree(home) == {".claude": "folder"}


@pytest.mark.parametrize(
    ("since", "left"),
    [
        (
            b'{"theirs": 1, "enabledPlugins": {"ours@shop": true, "b@c": true}}',
            b'{"theirs": 1, "enabledPlugins": {"b@c": true}}',
        ),
        (b'{"enabledPlugins":{"ours@shop":true}}', None),
        (b"{}", None),
        (b"", None),
        (None, None),
    ],
)
def test_what_the_user_put_into_a_file_we_made_stays(
    home: Path, since: bytes | None, left: bytes | None
) -> None:
    place = Place(home, home / ".claude" / "settings.json")
    applied = written(place)
    if since is None:
        place.file.unlink()
    else:
        place.file.write_bytes(since)
    restore(place, applied, STRICT_JSON)
    assert tree(home) == ({} if left is None else {".claude": "folder", ".claude/settings.json": left})


def test_what_the_user_changed_since_stays_and_only_ours_goes(home: Path, file: Path) -> None:  # S6.7
    applied = written(Place(home, file))
    file.write_bytes(apply(file.read_bytes().decode(), [SetMember(("theirs",), [1])]).encode())
    restore(Place(home, file), applied, STRICT_JSON)
    assert file.read_bytes() == apply(USERS.decode(), [SetMember(("theirs",), [1])]).encode()


def test_restoring_twice_does_nothing_the_second_time(home: Path, file: Path) -> None:
    applied = written(Place(home, file))
    assert restore(Place(home, file), applied, STRICT_JSON).written
    assert not restore(Place(home, file), applied, STRICT_JSON).written
    assert file.read_bytes() == USERS


def test_records_with_a_change_of_the_users_between_them_are_taken_back_by_key(
    home: Path, file: Path
) -> None:
    place = Place(home, file)
    first = written(place, EDITS[:1])
    file.write_bytes(apply(file.read_bytes().decode(), [SetMember(("theirs",), 1)]).encode())
    joined = first.then(written(place, EDITS[1:]))
    assert joined.splices == ()
    restore(place, joined, STRICT_JSON)
    assert STRICT_JSON.parse(file.read_text()) == STRICT_JSON.parse(USERS.decode()) | {"theirs": 1}


def test_a_file_that_the_user_deleted_between_two_writes_is_ours_alone(home: Path, file: Path) -> None:
    place = Place(home, file)
    first = written(place)
    file.unlink()
    restore(place, first.then(written(place)), STRICT_JSON)
    assert not file.exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_the_mode_of_the_file_stays_under_any_umask(home: Path, file: Path, mode: int) -> None:
    file.chmod(mode)
    old = os.umask(0o077)
    try:
        applied = written(Place(home, file))
        assert stat.S_IMODE(file.stat().st_mode) == mode
        restore(Place(home, file), applied, STRICT_JSON)
        assert stat.S_IMODE(file.stat().st_mode) == mode
    finally:
        os.umask(old)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o000, 0o644)])
def test_a_new_file_has_the_usual_mode_less_the_umask(home: Path, umask: int, mode: int) -> None:
    old = os.umask(umask)
    try:
        written(Place(home, home / "settings.json"))
    finally:
        os.umask(old)
    assert stat.S_IMODE((home / "settings.json").stat().st_mode) == mode


@pytest.mark.parametrize(
    "content",
    [
        b'// note\n{"a": 1}',
        b'{"a": 1,}',
        b'{"a": 1, "a": 2}',
        b"[]",
        b'{"a": "\xff"}',
        '{"a": 1}'.encode("utf-16"),
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": 1}\x00',
        b" " * (MAX_FILE_BYTES + 1),
    ],
)
def test_a_file_that_its_agent_cannot_read_is_left_alone(
    home: Path, file: Path, content: bytes
) -> None:  # S6.6
    file.write_bytes(content)
    refused = refusal(Place(home, file))
    assert refused.reason is Reason.NOT_PARSABLE
    assert str(file) in refused.detail
    assert file.read_bytes() == content


def test_a_link_to_a_file_outside_is_refused(home: Path, file: Path, tmp_path: Path) -> None:  # S6.6
    outside = tmp_path / "outside.json"
    file.rename(outside)
    file.symlink_to(outside)
    assert refusal(Place(home, file)).reason is Reason.SYMLINK
    assert outside.read_bytes() == USERS


@pytest.mark.parametrize("target", ["../outside", "{tmp}/outside", "gate/outside"])
def test_a_folder_that_leads_outside_is_refused(home: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").mkdir()
    (home / "gate").symlink_to(tmp_path)
    (home / ".claude").symlink_to(target.format(tmp=tmp_path))
    assert refusal(Place(home, home / ".claude" / "settings.json")).reason is Reason.SYMLINK
    assert tree(tmp_path / "outside") == {}


def test_a_way_out_and_back_in_is_refused(home: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "turn").symlink_to(file.parent)
    (home / "link").symlink_to(tmp_path / "turn")
    assert refusal(Place(home, home / "link" / "settings.json")).reason is Reason.SYMLINK


@pytest.mark.parametrize("name", ["../outside.json", "/etc/settings.json", "."])
def test_a_file_that_is_not_below_the_root_is_refused(home: Path, name: str) -> None:
    assert refusal(Place(home, home / name)).reason is Reason.SYMLINK


@pytest.mark.parametrize("target", ["dotfiles/settings.json", "{home}/dotfiles/settings.json"])
def test_a_link_that_stays_inside_is_kept_and_its_target_replaced(home: Path, target: str) -> None:
    real = home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(USERS)
    (home / "settings.json").symlink_to(target.format(home=home))
    before = tree(home)
    applied = written(Place(home, home / "settings.json"))
    assert (home / "settings.json").is_symlink()
    assert real.read_bytes() != USERS
    restore(Place(home, home / "settings.json"), applied, STRICT_JSON)
    assert tree(home) == before


def test_a_root_that_is_itself_behind_a_link_is_no_obstacle(home: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(home)
    (home / "link.json").symlink_to(tmp_path / "alias" / ".claude" / "settings.json")
    written(Place(tmp_path / "alias", tmp_path / "alias" / "link.json"))
    assert file.read_bytes() != USERS


def test_links_in_a_circle_are_refused(home: Path) -> None:
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    assert refusal(Place(home, home / "a")).reason is Reason.NOT_A_FILE


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the whole path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_socket])
def test_what_is_not_a_regular_file_is_refused(home: Path, make: Callable[[Path], object]) -> None:
    make(home / "settings.json")
    assert refusal(Place(home, home / "settings.json")).reason is Reason.NOT_A_FILE


def test_a_file_in_the_place_of_a_folder_is_refused(home: Path) -> None:
    (home / ".claude").write_bytes(b"")
    assert refusal(Place(home, home / ".claude" / "settings.json")).reason is Reason.NOT_A_FILE
    assert refusal(Place(home, home / ".claude" / "deep" / "settings.json")).reason is Reason.NOT_A_FILE


def test_a_file_marked_as_read_only_is_refused(home: Path, file: Path) -> None:
    file.chmod(0o444)
    assert refusal(Place(home, file)).reason is Reason.NOT_WRITABLE


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_refused(home: Path, file: Path) -> None:
    os.chown(file, 12345, -1)
    assert refusal(Place(home, file)).reason is Reason.NOT_WRITABLE


@pytest.mark.parametrize("name", ["settings.json", "deep/settings.json"])
def test_a_read_only_folder_is_refused(home: Path, file: Path, name: str) -> None:
    file.parent.chmod(0o555)
    try:
        assert refusal(Place(home, file.parent / name)).reason is Reason.NOT_WRITABLE
    finally:
        file.parent.chmod(0o755)


def test_a_file_that_git_tracks_is_refused_unless_allowed(home: Path, file: Path) -> None:
    for arguments in (["init", "-q"], ["add", "."]):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        subprocess.run(["git", "-C", str(home), *arguments], check=True, env=environment)  # noqa: S607
    assert refusal(Place(home, file)).reason is Reason.TRACKED
    assert file.read_bytes() == USERS
    assert write_edits(Place(home, file), EDITS, STRICT_JSON, Surroundings(allow_tracked=True)).written


def test_a_full_disk_leaves_everything_as_it_was(home: Path, file: Path) -> None:
    def full(_file: int, _data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = tree(home)
    surroundings = Surroundings(disk=Disk(write=full))
    assert refusal(Place(home, file), surroundings).reason is Reason.NO_SPACE
    assert refusal(Place(home, home / "new" / "settings.json"), surroundings).reason is Reason.NO_SPACE
    assert tree(home) == before


LATE_POINTS = KILL_POINTS[KILL_POINTS.index("guarded") : KILL_POINTS.index("replaced")]


@pytest.mark.parametrize("point", LATE_POINTS)
def test_a_change_while_we_edit_is_edited_into_the_newer_file(
    home: Path, file: Path, point: str
) -> None:  # S6.6
    newer = b'{"newer": true}'
    outcome = write_edits(Place(home, file), EDITS, STRICT_JSON, at(point, lambda: file.write_bytes(newer)))
    assert file.read_bytes() == apply(newer.decode(), EDITS).encode()
    assert outcome.applied is not None
    restore(Place(home, file), outcome.applied, STRICT_JSON)
    assert file.read_bytes() == newer


def test_a_file_that_changes_twice_is_refused_as_it_then_is(home: Path, file: Path) -> None:  # S6.6
    newest = iter([b'{"newer": 1}', b'{"newest": 2}'])
    surroundings = at("temporary_synced", lambda: file.write_bytes(next(newest)), times=2)
    assert refusal(Place(home, file), surroundings).reason is Reason.CHANGED_MEANWHILE
    assert tree(home)[".claude/settings.json"] == b'{"newest": 2}'
    assert len(tree(home)) == 2


def test_a_file_that_appears_while_we_make_one_is_not_overwritten(home: Path) -> None:
    path = home / "settings.json"
    theirs = b'{"theirs": true}'
    write_edits(
        Place(home, path), EDITS, STRICT_JSON, at("temporary_synced", lambda: path.write_bytes(theirs))
    )
    assert path.read_bytes() == apply(theirs.decode(), EDITS).encode()


def test_a_mode_set_while_we_edit_is_kept(home: Path, file: Path) -> None:
    write_edits(Place(home, file), EDITS, STRICT_JSON, at("temporary_synced", lambda: file.chmod(0o600)))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_put_in_the_way_while_we_edit_is_refused(home: Path, file: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"

    def exchange() -> None:
        file.parent.rename(outside)
        (home / ".claude").symlink_to(outside)

    assert refusal(Place(home, file), at("temporary_synced", exchange)).reason is Reason.SYMLINK
    assert (outside / "settings.json").read_bytes() == USERS


def test_a_change_while_we_restore_is_kept(home: Path) -> None:
    place = Place(home, home / "settings.json")
    applied = written(place)
    newer = apply(place.file.read_text(), [SetMember(("theirs",), 1)])
    restore(place, applied, STRICT_JSON, at("proved", lambda: place.file.write_text(newer)))
    assert STRICT_JSON.parse(place.file.read_text()) == {"theirs": 1}


def die() -> None:
    raise Killed


@pytest.mark.parametrize("point", KILL_POINTS)
@pytest.mark.parametrize("before", [USERS, None])
def test_an_end_at_any_point_leaves_the_old_file_or_the_new_one(
    home: Path, point: str, before: bytes | None
) -> None:
    place = Place(home, home / ".claude" / "settings.json")
    if before is not None:
        place.file.parent.mkdir()
        place.file.write_bytes(before)
    old = tree(home)
    with pytest.raises(Killed):
        write_edits(place, EDITS, STRICT_JSON, at(point, die))
    now = tree(home)
    write_edits(place, EDITS, STRICT_JSON)
    assert now in (old, tree(home))


@pytest.mark.parametrize(
    "point", [point for point in KILL_POINTS if not point.startswith(("temporary", "folders"))]
)
def test_an_end_while_a_file_of_ours_is_removed_leaves_it_whole_or_gone(home: Path, point: str) -> None:
    place = Place(home, home / "settings.json")
    applied = written(place)
    made = tree(home)
    with pytest.raises(Killed):
        restore(place, applied, STRICT_JSON, at(point, die))
    assert tree(home) in (made, {})


KILLED_PROGRAM = """
import os, signal, sys
from pathlib import Path
from tokeneconomizer.writers.edits import SetMember
from tokeneconomizer.writers.guarded_write import Surroundings, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.strict_json import STRICT_JSON
from tokeneconomizer.writers.whole_file import Disk

def checkpoint(name):
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

home = Path(sys.argv[1])
place = Place(home, home / ".claude" / "settings.json")
write_edits(place, [SetMember(("a",), 1)], STRICT_JSON, Surroundings(disk=Disk(checkpoint=checkpoint)))
"""


@pytest.mark.parametrize(
    "point", ["folders_made", "temporary_opened", "temporary_synced", "compared", "replaced"]
)
def test_a_real_kill_leaves_a_whole_file_and_the_next_write_clears_up(
    home: Path, file: Path, point: str
) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED_PROGRAM, str(home), point], check=False)
    assert ended.returncode == -signal.SIGKILL
    new = apply(USERS.decode(), [SetMember(("a",), 1)]).encode()
    assert file.read_bytes() == (new if point == "replaced" else USERS)
    write_edits(Place(home, file), [SetMember(("b",), 1)], STRICT_JSON)
    assert len(tree(home)) == 2


def test_the_record_is_handed_over_before_the_file_is_touched(home: Path, file: Path) -> None:
    seen: list[tuple[Applied, bytes]] = []
    surroundings = Surroundings(record=lambda applied: seen.append((applied, file.read_bytes())))
    outcome = write_edits(Place(home, file), EDITS, STRICT_JSON, surroundings)
    assert seen == [(outcome.applied, USERS)]


def test_a_record_whose_write_never_happened_is_taken_back_without_a_change(home: Path, file: Path) -> None:
    records: list[Applied] = []
    with pytest.raises(Killed):
        write_edits(
            Place(home, file),
            EDITS,
            STRICT_JSON,
            Surroundings(record=records.append, disk=at("recorded", die).disk),
        )
    assert not restore(Place(home, file), records[0], STRICT_JSON).written
    joined = records[0].then(written(Place(home, file), EDITS[:1]))
    restore(Place(home, file), joined, STRICT_JSON)
    assert file.read_bytes() == USERS


class CarelessFormat(StrictJson):
    """Edits right, and something else of the user's as well."""

    def __init__(self, harm: Callable[[str], tuple[Splice, ...]]) -> None:
        self.harm = harm

    def edit(self, text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
        splices = STRICT_JSON.edit(text, edits)
        return (*splices, *self.harm(apply(text, edits)))


def exchange(old: str, new: str) -> Callable[[str], tuple[Splice, ...]]:
    return lambda text: (Splice(text.index(old), old, new),)


@pytest.mark.parametrize(
    "harm",
    [
        exchange("9007199254740993", "9007199254740992"),
        exchange("9007199254740993", "9007199254740993.0"),
        exchange('"big"', '"Big"'),
        exchange("true", "1"),
        exchange("{", "{,"),
        exchange("\\u0041", "\\u0042"),
    ],
)
def test_an_edit_that_touches_anything_else_is_refused(
    home: Path, file: Path, harm: Callable[[str], tuple[Splice, ...]]
) -> None:
    with pytest.raises(WriteRefused) as refused:
        write_edits(Place(home, file), EDITS, CarelessFormat(harm))
    assert refused.value.reason is Reason.UNPROVEN_EDIT
    assert file.read_bytes() == USERS


@pytest.mark.parametrize("value", [[], None, "text"])
def test_an_edit_that_finds_another_kind_of_value_in_its_way_is_refused(
    home: Path, file: Path, value: JSON
) -> None:
    file.write_bytes(apply("{}", [SetMember(("permissions",), {"deny": value})]).encode())
    before = file.read_bytes()
    edit = (
        SetMember(("permissions", "deny", "x"), 1)
        if value == []
        else AddElement(("permissions", "deny"), "x")
    )
    with pytest.raises(WriteRefused) as refused:
        write_edits(Place(home, file), [edit], STRICT_JSON)
    assert refused.value.reason is Reason.UNPROVEN_EDIT
    assert file.read_bytes() == before


def test_a_refusal_says_what_to_do(home: Path, file: Path) -> None:
    file.write_bytes(b"{")
    assert str(refusal(Place(home, file))) == (
        f"{file}: line 1, column 2: a key in double quotes is missing; "
        "correct the file until its agent can read it, then try again"
    )
