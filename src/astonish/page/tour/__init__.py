"""A tour of the paper: what it says, whether that holds, and what breaks it; one idea per screen."""
