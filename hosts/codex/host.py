"""What a hook call of Codex means; see `hosts.host.Host`."""

from tokeneconomizer.hosts.codex.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.codex.payload import NAME, decode
from tokeneconomizer.hosts.codex.reply import encode, hides_hints
from tokeneconomizer.hosts.codex.trust import trust_file, trusts
from tokeneconomizer.hosts.reply_context import nested_context_in as context_in

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
