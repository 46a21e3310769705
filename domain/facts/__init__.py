"""What sessions had to find out about a repository: learnt from their calls, told to later ones."""
