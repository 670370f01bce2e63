"""From a word to a learner, a family of beliefs or a response model."""
