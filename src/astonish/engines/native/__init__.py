"""The native engine: a learner's step, traced by JAX and compiled by LLVM, at a fraction of a microsecond a call.

`pip install 'astonish[native]'`
"""
