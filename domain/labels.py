"""Short foreign words that are stored as they are: ids, models, sources, reasons."""

from tokeneconomizer.domain.redaction import scrub

LABEL_CHARACTERS_MAX = 100
"""Such words are short; what is longer is not one."""


def label(text: str) -> str:
    """Return the word, scrubbed and bounded."""
    return scrub(text)[:LABEL_CHARACTERS_MAX]
