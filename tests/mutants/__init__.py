"""Small mistakes that tests must notice; see `__main__.py`."""
