"""What a call of Pi's extension means; see `hosts.host.Host`."""

from tokeneconomizer.hosts.bridge.reply import context_in, encode
from tokeneconomizer.hosts.pi.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.pi.payload import NAME, decode
from tokeneconomizer.hosts.pi.trust import trust_file, trusts

__all__ = [
    "NAME",
    "calls_of_turn",
    "context_in",
    "decode",
    "encode",
    "hides_hints",
    "settled",
    "trust_file",
    "trusts",
]


def hides_hints(_transcript_tail: bytes) -> bool:
    """Return that none is hidden: the extension shows them, in a window or on stderr."""
    return False
