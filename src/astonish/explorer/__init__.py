"""A local web page on which to try learners, and to shape beliefs, by hand (`pip install 'astonish[page]'`)."""
