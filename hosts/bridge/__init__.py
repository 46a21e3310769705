"""What runs inside an agent's own process: its connection to the daemon, and how one file is made of it."""
