"""Codex: its log as records."""
