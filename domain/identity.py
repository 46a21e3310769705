"""
Which repository a folder belongs to, by its `origin`: from git's configuration to a folder's name.

`origin_url` reads a configuration file's text as git does (without includes and `insteadOf`, which belong to
the user and not to the repository). What git refuses to read has no origin here.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b

from tokeneconomizer.domain.redaction import scrub

_DEFAULT_PORTS = {"ssh": "22", "git+ssh": "22", "ssh+git": "22", "https": "443", "http": "80", "git": "9418"}
# Hosts that serve the same repositories over another port.
_SAME_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.gitlab.com": "gitlab.com",
    "www.github.com": "github.com",
}
# The text before the hash in a folder's name; with it the name stays below 100 bytes.
_SLUG_CHARACTERS_MAX = 64
_NAME_HASH_BYTES = 8

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d*))?")
# `host:path`, with brackets around an IPv6 address; a slash before the colon makes it a local path.
_SCP = re.compile(r"(?:[^/@]*@)?(\[[^\]/]+\]|[^/:\[\]]{2,}):(.*)", re.DOTALL)
_SLASHES = re.compile(r"/{2,}")
_UNSAFE_IN_NAME = re.compile(r"[^a-z0-9._]+")


def normalise_remote(url: str) -> str:
    """
    One identity for all the URLs of a remote repository: `github.com/owner/name`.

    A local repository gives `path:` and its path as it was written; an empty URL gives nothing.
    """
    url = scrub(url).strip()
    found = _URL.fullmatch(url)
    if found and found[1].lower() != "file":
        return _remote(found[1].lower(), found[2])
    scp = None if found else _SCP.fullmatch(url)
    if scp:
        return _joined(scp[1], "", scp[2])
    path = found[2] if found else url
    return f"path:{path.rstrip('/') or '/'}" if path else ""


def _remote(scheme: str, rest: str) -> str:
    authority, _, path = rest.partition("/")
    host_and_port = _HOST_AND_PORT.fullmatch(authority.rpartition("@")[2])
    host, port = (host_and_port[1], host_and_port[2] or "") if host_and_port else (authority, "")
    if port == _DEFAULT_PORTS.get(scheme):
        port = ""
    return _joined(host, port, re.split("[?#]", path, maxsplit=1)[0])


def _joined(host: str, port: str, path: str) -> str:
    host = host.casefold().rstrip(".")
    if host in _SAME_HOSTS:
        host, port = _SAME_HOSTS[host], ""
    names = _SLASHES.sub("/", path).strip("/")
    if names.endswith(".git") and not names.endswith("/.git") and names != ".git":
        names = names[: -len(".git")]
    return "/".join(part for part in (f"{host}:{port}" if port else host, names) if part)


def safe_folder_name(identity: str) -> str:
    """Name a folder after an identity: readable, unique, and safe on any file system."""
    slug = _UNSAFE_IN_NAME.sub("-", scrub(identity).lower()).strip("-.")[-_SLUG_CHARACTERS_MAX:].strip("-.")
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=_NAME_HASH_BYTES).hexdigest()
    return f"{slug}-{digest}" if slug else digest


class _Malformed(Exception):
    """Git would refuse the file."""


_SPACES = " \t\n\r"
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"'}


def origin_url(config_text: str) -> str | None:
    """Read the last `url` of the remote called origin; nothing where git finds none or refuses the file."""
    url: str | None = None
    try:
        for name, value in _entries(_Characters(config_text)):
            if name == "remote.origin.url":
                url = value
    except _Malformed:
        return None
    return url or None


class _Characters:
    """Characters one by one, as git reads them: CR LF is LF, and the end is a last LF."""

    __slots__ = ("_position", "_text", "ended")

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self._position = 0
        self.ended = False

    def next(self) -> str:
        if self._position >= len(self._text):
            self.ended = True
            return "\n"
        self._position += 1
        return self._text[self._position - 1]


def _entries(characters: _Characters) -> Iterator[tuple[str, str | None]]:
    """Yield each `section.subsection.key` with its value; a key alone has none."""
    section = ""
    in_comment = False
    while True:
        character = characters.next()
        if character == "\n":
            if characters.ended:
                return
            in_comment = False
        elif in_comment or character in _SPACES:
            continue
        elif character in "#;":
            in_comment = True
        elif character == "[":
            section = _section(characters)
        elif character.isascii() and character.isalpha():
            yield _entry(characters, section, character)
        else:
            raise _Malformed


def _is_key_character(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "-")


def _section(characters: _Characters) -> str:
    name = ""
    while True:
        character = characters.next()
        if characters.ended:
            raise _Malformed
        if character == "]":
            return name
        if character in _SPACES:
            return f"{name}.{_subsection(characters, character)}"
        if not _is_key_character(character) and character != ".":
            raise _Malformed
        name += character.lower()


def _subsection(characters: _Characters, character: str) -> str:
    while character in _SPACES:
        if character == "\n":
            raise _Malformed
        character = characters.next()
    if character != '"':
        raise _Malformed
    name = ""
    while (character := characters.next()) != '"':
        if character == "\\":
            character = characters.next()
        if character == "\n":
            raise _Malformed
        name += character
    if characters.next() != "]":
        raise _Malformed
    return name


def _entry(characters: _Characters, section: str, first: str) -> tuple[str, str | None]:
    key = first.lower()
    while _is_key_character(character := characters.next()):
        key += character.lower()
    while character in {" ", "\t"}:
        character = characters.next()
    if character == "\n":
        return f"{section}.{key}", None
    if character != "=":
        raise _Malformed
    return f"{section}.{key}", _value(characters)


def _value(characters: _Characters) -> str:
    kept = spaces = ""
    in_quotes = False
    while (character := characters.next()) != "\n":
        if character in _SPACES and not in_quotes:
            spaces += character if kept else ""
            continue
        if character in "#;" and not in_quotes:
            while characters.next() != "\n":
                pass
            return kept
        kept += spaces
        spaces = ""
        if character == "\\":
            kept += _escaped(characters.next())
        elif character == '"':
            in_quotes = not in_quotes
        else:
            kept += character
    if in_quotes:
        raise _Malformed
    return kept


def _escaped(character: str) -> str:
    """Unescape; a line feed goes, and the value goes on in the next line."""
    if character == "\n":
        return ""
    if character not in _ESCAPES:
        raise _Malformed
    return _ESCAPES[character]
