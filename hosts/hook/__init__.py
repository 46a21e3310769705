"""The hook client: started by path for each step of an agent, so it imports next to nothing."""
