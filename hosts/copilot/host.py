"""What a hook call of Copilot CLI means; see `hosts.host.Host`."""

from tokeneconomizer.hosts.copilot.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.copilot.payload import NAME, decode
from tokeneconomizer.hosts.copilot.reply import context_in, encode, hides_hints
from tokeneconomizer.hosts.copilot.trust import trust_file, trusts

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
