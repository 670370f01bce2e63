"""How results look: one style for figures, one page for reports."""
