"""The devices of this machine, and why there are no others."""

import dataclasses

from ._tenure import survey


@dataclasses.dataclass(frozen=True)
class Heap:
    """One heap of a device.

    `local` says that it is the device's own memory, `mappable` that the CPU reaches it.
    """

    bytes: int
    local: bool
    mappable: bool


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """A device that was found.

    `word` is what `open_device` opens it by. `kind` is "discrete", "integrated", "virtual",
    "software" or "other". `unusable` says why it cannot be opened, if it cannot.
    """

    word: str
    name: str
    driver: str
    kind: str
    heaps: tuple[Heap, ...]
    abilities: tuple[str, ...]
    unusable: str | None


class Devices(list[DeviceInfo]):
    """The devices that were found; `missing` says of every other backend why it has none."""

    missing: dict[str, str]


def devices() -> Devices:
    """Looks for devices: of CUDA, HIP, OpenCL and Vulkan, whose libraries are loaded now.

    >>> for device in tenure.devices():
    ...     print(device.word, device.name, device.kind)
    >>> tenure.devices().missing["cuda"]
    'no library: libcuda.so.1 cannot be loaded …'
    """
    found, missing = survey()
    listed = Devices(
        DeviceInfo(
            word, name, driver, kind, tuple(Heap(*heap) for heap in heaps), tuple(can), unusable
        )
        for word, name, driver, kind, heaps, can, unusable in found
    )
    listed.missing = dict(missing)
    return listed
