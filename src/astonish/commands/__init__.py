"""The commands, a module each: what each of them does, says and answers."""
