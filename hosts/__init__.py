"""Where agents plug in: one package per agent, all of one shape, and the hook client."""
