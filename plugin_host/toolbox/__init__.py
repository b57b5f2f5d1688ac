"""What can be asked about tools: groups, names, search, switches."""
