"""Which parts of LLVM are used? Those of llvmlite: `binding` compiles, `ir` writes code.

`pip install 'astonish[native]'`
"""

from astonish.core.refusal import naming_extra

with naming_extra("the native engine needs"):
    from llvmlite import __version__ as version, binding, ir

__all__ = ["binding", "ir", "version"]
