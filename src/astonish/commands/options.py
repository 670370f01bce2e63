"""How are words such as `m=0.1` on the command line understood?"""

from collections.abc import Sequence


def pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Names and what follows their sign of equality.

    >>> pairs("--given", ["noise=sigma"])
    {'noise': 'sigma'}
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        if not (name and equals and value):
            raise ValueError(f"{option} {word} is not understood; give a name and a value, such as {option} noise=...")
        if name in found:
            raise ValueError(f"{option} gives {name} twice, as {found[name]} and {value}; give it once")
        found[name] = value
    return found


def numbers(option: str, words: Sequence[str]) -> dict[str, float]:
    """Names and numbers.

    >>> numbers("--set", ["m=0.1", "noise=25"])
    {'m': 0.1, 'noise': 25.0}
    """
    return {name: _number(f"{option} {name}", value) for name, value in pairs(option, words).items()}


def outcome_columns(names: Sequence[str]) -> str | tuple[str, str]:
    """One column, or two for transitions."""
    if len(names) > 2:
        raise ValueError(f"--outcome was given {len(names)} times; give it once, or twice (from, to) for transitions")
    return names[0] if len(names) == 1 else (names[0], names[1])


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} = {value!r} is not a number; give one") from None
