"""What depends on JAX's version: compiler flags for programs that run once.

`python -m tests.jax_versions` prints the flags, as a value of XLA_FLAGS, without importing JAX. XLA ends the
process if it does not know a flag.
"""

from importlib.metadata import version


def quick_flags(jax: str | None = None) -> str:
    """Return XLA's flags that halve the time to compile what may then be slower to run.

    Args:
        jax: JAX's version. Default: that of the one installed.

    >>> quick_flags("0.10.2")  # doctest: +NORMALIZE_WHITESPACE
    '--xla_cpu_parallel_codegen_split_count=1 --xla_disable_hlo_passes=while-loop-invariant-code-motion
     --xla_cpu_use_fusion_emitters=false'
    >>> quick_flags("0.11.2")
    '--xla_cpu_parallel_codegen_split_count=1 --xla_disable_hlo_passes=while-loop-invariant-code-motion'
    """
    major, minor = (jax or version("jax")).split(".")[:2]
    flags = ["--xla_cpu_parallel_codegen_split_count=1"]  # other processors are busy with other programs
    flags += ["--xla_disable_hlo_passes=while-loop-invariant-code-motion"]  # a sixth of the time to compile
    if (int(major), int(minor)) < (0, 11):
        flags.append("--xla_cpu_use_fusion_emitters=false")
    return " ".join(flags)


if __name__ == "__main__":
    print(quick_flags())
