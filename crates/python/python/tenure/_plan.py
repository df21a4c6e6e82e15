"""Which buffers of a schedule share memory."""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from ._tenure import Device, Pool, Tensor, plan_json, schedule_json


@dataclasses.dataclass(frozen=True)
class Arena:
    """One piece of memory that buffers are placed in."""

    device: int
    lane: str
    bytes: int
    align: int
    lower_bound: int
    optimal: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """Where every buffer of a schedule goes.

    `places` has arena and offset of each buffer by its name, or None for one that is in no arena.
    `optimal` says that `bytes` is proven to be the minimum. In the mode "disabled" there are no
    arenas and no places, and `bytes` is what the buffers take on their own.
    """

    mode: str
    bytes: int
    lower_bound: int
    optimal: bool
    arenas: tuple[Arena, ...]
    places: dict[str, tuple[int, int] | None]
    _sizes: dict[str, int] = dataclasses.field(repr=False)
    # Buffers with memory of their own, because the mode is "disabled": whose it is, and from where.
    _own: dict[str, tuple[str, int]] = dataclasses.field(repr=False, default_factory=dict)

    def allocate(self, memory: Any = None) -> dict[str, Tensor]:
        """Allocates the arenas, and gives a tensor of bytes for every buffer that is placed.

        In the mode "disabled" there are no arenas: every buffer that could have been placed gets
        a tensor with memory of its own, which goes when that tensor and its views do.

        memory: as for Tensor; or a Device or a Pool.
        """

        def block(size: int) -> Tensor:
            if isinstance(memory, Device | Pool):
                return memory.tensor((size,), "u8")
            return Tensor((size,), "u8", memory)

        arenas = [block(arena.bytes) for arena in self.arenas]
        owners = {base for base, _ in self._own.values()}
        alone = {base: block(self._sizes[base]) for base in sorted(owners)}
        parts = {
            name: (arenas[place[0]], place[1])
            for name, place in self.places.items()
            if place is not None
        }
        parts |= {name: (alone[base], start) for name, (base, start) in self._own.items()}
        return {
            name: whole[start : start + self._sizes[name]] for name, (whole, start) in parts.items()
        }


def plan(
    schedule: Mapping[str, Any] | str | os.PathLike[str],
    mode: str = "arena",
    packer: str = "best",
    *,
    seconds: float | None = None,
    threads: int | None = None,
) -> Plan:
    """Decides which buffers of a schedule share memory. The result is checked before it is given.

    schedule: a mapping with "buffers" and "steps", as `tenure plan` reads it; or its JSON text; or
        the path of a file with that. Steps name buffers by their names or by their indices.
    mode: "arena" (also "tlsf") packs all of a device's buffers, "remap" (also "pool") shares
        allocations of one size, and "disabled" (also "off", "none") places nothing.
    packer: "best", "greedy-size", "best-fit" or "tlsf".
    seconds: how long to search for the minimum; None for a fixed amount of work, which gives the
        same result everywhere.
    threads: how many search; this changes the time and not the result.

    Raises ValueError if the schedule makes no sense.

    >>> import tenure
    >>> made = tenure.plan({
    ...     "buffers": [{"name": "x", "bytes": 64, "input": True}, {"name": "a", "bytes": 512},
    ...                 {"name": "b", "bytes": 256}, {"name": "c", "bytes": 512}],
    ...     "steps": [{"name": "1", "reads": ["x"], "writes": ["a"]},
    ...               {"name": "2", "reads": ["a"], "writes": ["b"]},
    ...               {"name": "3", "reads": ["b"], "writes": ["c"]}]})
    >>> made.bytes, made.optimal
    (768, True)
    """
    indexed = _by_index(_read(schedule))
    made = json.loads(plan_json(json.dumps(indexed), mode, packer, seconds, threads))
    buffers = indexed["buffers"]
    places = {
        buffer["name"]: (place["arena"], place["offset"]) if "arena" in place else None
        for buffer, place in zip(buffers, made["placements"], strict=True)
    }
    return Plan(
        mode=made["mode"],
        bytes=made["bytes"],
        lower_bound=made["lower_bound"],
        optimal=made["optimal"],
        arenas=tuple(Arena(**arena) for arena in made["arenas"]),
        places=places,
        _sizes={buffer["name"]: buffer["bytes"] for buffer in buffers},
        _own={
            buffer["name"]: _base(buffers, index)
            for index, (buffer, place) in enumerate(zip(buffers, made["placements"], strict=True))
            if place.get("excluded") == "disabled"
        },
    )


def read_model(
    path: str | os.PathLike[str],
    dims: Mapping[str, int] | None = None,
    *,
    arena: bool = False,
) -> dict[str, Any]:
    """The schedule of a model file, ONNX or TensorFlow Lite, which `plan` takes.

    Buffers are the model's tensors and steps its nodes, in an order in which they can run. Nothing
    of the weights is copied, and those of a large ONNX file are not even read.

    path: of the file.
    dims: values for the dimensions that an ONNX model leaves open, by their names.
    arena: place inputs and outputs too, as TensorFlow Lite Micro does; without it they are the
        caller's.

    Raises OSError if there is no such file, and ValueError for one that is damaged or whose sizes
    are not known.

    >>> tenure.plan(tenure.read_model("model.onnx", {"batch": 1}))  # doctest: +SKIP
    """
    made: dict[str, Any] = json.loads(schedule_json(os.fspath(path), dict(dims or {}), arena))
    return made


def _base(buffers: list[dict[str, Any]], index: int) -> tuple[str, int]:
    """The buffer whose bytes this one has, and from which byte on."""
    start = 0
    while view := buffers[index].get("view_of"):
        start += view["offset"]
        index = view["buffer"]
    return buffers[index]["name"], start


def _read(schedule: Mapping[str, Any] | str | os.PathLike[str]) -> Any:
    if isinstance(schedule, os.PathLike):
        with open(schedule, encoding="utf-8") as file:
            return json.load(file)
    return json.loads(schedule) if isinstance(schedule, str) else schedule


def _by_index(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule with indices where steps, views and buffers give names."""
    try:
        buffers, steps = schedule["buffers"], schedule["steps"]
        indices = {buffer["name"]: index for index, buffer in enumerate(buffers)}
    except (KeyError, TypeError) as error:
        raise ValueError(
            'a schedule has "buffers", each with a "name", and "steps"'
        ) from error

    def index(named: int | str) -> int:
        if not isinstance(named, str):
            return named
        if named not in indices:
            raise ValueError(f"no buffer has the name {named!r}")
        return indices[named]

    def translated(entry: Mapping[str, Any], *fields: str) -> dict[str, Any]:
        lists = {field: [index(at) for at in entry[field]] for field in fields if field in entry}
        return {**entry, **lists}

    return {
        **schedule,
        "buffers": [translated(buffer, "in_place") for buffer in buffers],
        "steps": [translated(step, "reads", "writes") for step in steps],
    }
