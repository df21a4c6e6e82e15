"""How much memory this process has, by kind and by name."""

import dataclasses

from ._tenure import allocations, usage_of


@dataclasses.dataclass(frozen=True)
class Usage:
    """Use of one memory by this process.

    `live` is bytes now and `peak` at most at one time; `count` is allocations now and `made` ever.
    """

    live: int
    peak: int
    count: int
    made: int


@dataclasses.dataclass(frozen=True)
class Live:
    """One allocation that exists: its number, memory, bytes, and name if it was given one."""

    id: int
    memory: str
    bytes: int
    name: str | None


def usage(memory: str) -> Usage:
    """Use of a memory ("mem", "shm", …) by this process. What pools keep counts as allocated.

    >>> import tenure
    >>> t = tenure.Tensor((1000,), "u8", memory="mem")
    >>> tenure.usage("mem").live >= 1000
    True
    """
    return Usage(*usage_of(memory))


def live_memory() -> list[Live]:
    """Every allocation that exists, largest first.

    What a program prints when it should hold nothing any more.

    >>> import tenure
    >>> t = tenure.Tensor((1000,), "u8", memory="mem", name="weights")
    >>> [one.bytes for one in tenure.live_memory() if one.name == "weights"]
    [1000]
    """
    return [Live(*one) for one in allocations()]
