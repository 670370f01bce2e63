"""A stream of numbers on standard input: read, learned from as it comes, and shown."""
