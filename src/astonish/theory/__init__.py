"""The theory of the paper, on arrays: exponential families, surprise, and the rule that moves a belief."""
