"""What a hook call of Claude Code means; see `hosts.host.Host`."""

from tokeneconomizer.hosts.claude_code.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.claude_code.payload import NAME, decode
from tokeneconomizer.hosts.claude_code.reply import encode, hides_hints
from tokeneconomizer.hosts.claude_code.trust import trust_file, trusts
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
