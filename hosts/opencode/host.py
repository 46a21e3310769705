"""What a hook call of opencode means; see `hosts.host.Host`."""

from tokeneconomizer.hosts.bridge.reply import context_in, encode
from tokeneconomizer.hosts.opencode.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.opencode.payload import NAME, decode
from tokeneconomizer.hosts.opencode.reply import hides_hints
from tokeneconomizer.hosts.opencode.trust import trust_file, trusts

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
