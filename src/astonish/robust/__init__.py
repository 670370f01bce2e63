"""What a monitor of a stream is made of: a robust regression, the tail of past surprises, and shifts of a level."""
