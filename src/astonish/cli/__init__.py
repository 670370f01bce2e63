"""The command `astonish`, a module for each of its commands. JAX is imported only once a command has work to do."""
