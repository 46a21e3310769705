"""The errors of reading the log and keeping views; `StoreDamaged` and `StoreTooNew` are the domain's."""

from __future__ import annotations

from tokeneconomizer.domain.errors import TokeneconomizerError


class StoreUnreachable(TokeneconomizerError):
    """The event store is there, and cannot be opened now."""


class ViewUnusable(TokeneconomizerError):
    """A view's file cannot be read, or cannot be written."""


class RebuildRunning(TokeneconomizerError):
    """Another process rebuilds or verifies the same projection."""
