"""Where people look: the `te` command line."""
