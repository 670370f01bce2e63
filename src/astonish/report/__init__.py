"""How results look: the style of figures and reports, and views of what learners did."""
