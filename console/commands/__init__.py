"""One module per command, named as the user types it."""
