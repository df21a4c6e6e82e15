"""What of the package is written in Rust; of streams, the types are in `_streams`."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import (
    Any,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    Unpack,
    final,
)

from typing_extensions import Buffer

from ._streams import (
    Frame,
    Publisher,
    Recorder,
    Slot,
    Subscriber,
    replay,
    stat,
    streams,
    subscribe,
)

__all__ = [
    "BusyError",
    "DamagedError",
    "Device",
    "Fence",
    "File",
    "ForkedError",
    "Frame",
    "ImageProcessor",
    "Mapped",
    "NotFoundError",
    "Placement",
    "Pool",
    "Publisher",
    "ReadOnlyError",
    "Recorder",
    "Slot",
    "Subscriber",
    "Tensor",
    "UnsupportedError",
    "WrongTypeError",
    "allocations",
    "copy_all",
    "copy_all_later",
    "decode_image",
    "encode_image",
    "from_dlpack",
    "from_fd",
    "from_planes",
    "open",
    "open_device",
    "open_raw",
    "plan_json",
    "read_image",
    "receive",
    "replay",
    "save",
    "save_image",
    "schedule_json",
    "send",
    "stat",
    "streams",
    "subscribe",
    "survey",
    "usage_of",
]

class _HasFileno(Protocol):
    def fileno(self) -> int: ...

class _Array(Protocol):
    """What has `__dlpack__`: arrays of numpy, torch, jax, …"""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

_Memory: TypeAlias = Literal["mem", "dma", "shm", "pbo", "file", "pinned", "device", "managed"]
_DeviceMemory: TypeAlias = Literal["device", "pinned", "managed"]
_Heap: TypeAlias = tuple[int, bool, bool]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Path: TypeAlias = str | os.PathLike[str]
_Index: TypeAlias = SupportsIndex | slice | None
_Rectangle: TypeAlias = tuple[int, int, int, int]
_Matrix: TypeAlias = Literal["bt601", "bt709", "bt2020"]
_Range: TypeAlias = Literal["limited", "full"]

class BusyError(BufferError):
    """Somebody uses the bytes in a way that excludes what was asked: release that, or wait."""

class ReadOnlyError(BufferError):
    """The bytes are read-only."""

class UnsupportedError(BufferError, OSError, ValueError):
    """It makes sense, but not for this tensor, memory or file."""

class DamagedError(OSError, ValueError):
    """A file or a message is not what its format asks for, or has lost bytes."""

class NotFoundError(FileNotFoundError, ValueError):
    """Nothing has this name or number."""

class WrongTypeError(TypeError, ValueError):
    """An element type that this cannot be done with."""

class ForkedError(RuntimeError, OSError):
    """It was made before this process was forked off: make it here."""

@final
class Mapped:
    """Memory of a tensor, for a `with` block: `with tensor.map() as view: …`."""

    def __enter__(self) -> memoryview: ...
    def __exit__(self, *_error: object) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, view: memoryview, /) -> None: ...

@final
class Tensor:
    """Elements of one type in some memory."""

    def __new__(
        cls,
        shape: _Shape,
        dtype: object = "f32",
        memory: _Memory | None = None,
        name: str | None = None,
        *,
        lazy: bool = False,
    ) -> Tensor: ...
    @staticmethod
    def image(
        width: int,
        height: int,
        format: str,
        dtype: object = "u8",
        memory: _Memory | None = None,
        name: str | None = None,
        *,
        lazy: bool = False,
    ) -> Tensor: ...
    @property
    def memory(self) -> _Memory: ...
    @property
    def space(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def placed(self) -> bool: ...
    @property
    def refusals(self) -> list[tuple[_Memory, str]]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def format(self) -> str | None: ...
    @property
    def colour(self) -> tuple[_Matrix, _Range] | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def readonly(self) -> bool: ...
    def with_format(self, format: str) -> Tensor: ...
    def with_colour(
        self, matrix: _Matrix | None = None, range: _Range | None = None
    ) -> Tensor: ...
    @property
    def quantization(
        self,
    ) -> tuple[float, int, None] | tuple[list[float], list[int], int] | None: ...
    def with_quantization(
        self,
        scale: float | Sequence[float],
        zero_point: int | Sequence[int] = 0,
        axis: int | None = None,
    ) -> Tensor: ...
    def plane(self, plane: int) -> Tensor: ...
    def batch(self, index: int) -> Tensor: ...
    def region(self, x: int, y: int, width: int, height: int) -> Tensor: ...
    def reshape(self, shape: _Shape) -> Tensor: ...
    def permute(self, axes: _Shape) -> Tensor: ...
    def broadcast_to(self, shape: _Shape) -> Tensor: ...
    def aliases(self, other: Tensor) -> bool: ...
    def to(
        self, place: _Place | None = None, memory: _Memory | None = None
    ) -> Tensor: ...
    def to_later(
        self, place: _Place | None = None, memory: _Memory | None = None
    ) -> tuple[Tensor, Fence]: ...
    def copy_from(self, source: Tensor | _Array) -> None: ...
    def copy_from_later(self, source: Tensor | _Array) -> Fence: ...
    def fd(self) -> int: ...
    def map(self, *, timeout: float | None = None) -> Mapped: ...
    def map_read(self, *, timeout: float | None = None) -> Mapped: ...
    def tobytes(self) -> bytes: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    __dlpack_c_exchange_api__: object
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, view: memoryview, /) -> None: ...
    def __getitem__(self, key: _Index | tuple[_Index, ...], /) -> Tensor: ...
    def __len__(self) -> int: ...

# A memory, "cpu", a space ("gpu:0"), a device by its word ("vulkan:0") or itself, or a pool.
_Place: TypeAlias = str | Device | Pool

@final
class Fence:
    """Becomes done when the work behind it is, and stays so."""

    @staticmethod
    def from_fd(fd: int | _HasFileno) -> Fence: ...
    @property
    def done(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def fileno(self) -> int: ...

@final
class Pool:
    """Freed memory that is kept and handed out again.

    bytes: how much is in use and kept together at most; asking for more is a MemoryError.
    Without it the pool is not limited, and keeps 256 MiB at most.
    buffers: how many are kept at most, 64 if not said.
    """

    def __new__(
        cls, memory: _Memory, *, bytes: int | None = None, buffers: int | None = None
    ) -> Pool: ...
    def tensor(
        self,
        shape: _Shape,
        dtype: object = "f32",
        name: str | None = None,
        *,
        lazy: bool = False,
        without_zeroing: bool = False,
    ) -> Tensor: ...
    def image(
        self,
        width: int,
        height: int,
        format: str,
        dtype: object = "u8",
        name: str | None = None,
        *,
        lazy: bool = False,
        without_zeroing: bool = False,
    ) -> Tensor: ...
    def report(self) -> dict[str, int]: ...
    def trim(self) -> None: ...

@final
class Device:
    """A device that is open: a GPU, or a program that is one."""

    @property
    def word(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def driver(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def space(self) -> str: ...
    @property
    def memories(self) -> list[_DeviceMemory]: ...
    @property
    def heaps(self) -> list[_Heap]: ...
    @property
    def queues(self) -> int: ...
    @property
    def queue(self) -> int: ...
    @property
    def uuid(self) -> str: ...
    @property
    def reaches_main(self) -> bool: ...
    @property
    def reaches_dma(self) -> bool: ...
    def on_queue(self, queue: int) -> Device: ...
    def queued(self) -> Device: ...
    def tensor(
        self,
        shape: _Shape,
        dtype: object = "f32",
        memory: _DeviceMemory = "device",
        name: str | None = None,
        *,
        lazy: bool = False,
    ) -> Tensor: ...
    def image(
        self,
        width: int,
        height: int,
        format: str,
        dtype: object = "u8",
        memory: _DeviceMemory = "device",
        name: str | None = None,
        *,
        lazy: bool = False,
    ) -> Tensor: ...
    def pool(
        self,
        memory: _DeviceMemory = "device",
        *,
        bytes: int | None = None,
        buffers: int | None = None,
    ) -> Pool: ...
    def usage(self) -> dict[_DeviceMemory, tuple[int, int]]: ...
    def close(self) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class File:
    """Tensors of a file, by name: views of it, of which nothing is read until it is touched."""

    @property
    def path(self) -> os.PathLike[str]: ...
    @property
    def format(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    def keys(self) -> list[str]: ...
    def check(self) -> dict[str, str]: ...
    def load(
        self,
        names: Sequence[str] | None = None,
        memory: _Place | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, Tensor]: ...
    def __getitem__(self, key: str, /) -> Tensor: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...

@final
class Placement:
    """Where a picture lies in the destination of a conversion."""

    @property
    def content(self) -> _Rectangle: ...
    def to_source(self, x: float, y: float) -> tuple[float, float]: ...
    def to_destination(self, x: float, y: float) -> tuple[float, float]: ...

class _How(TypedDict, total=False):
    """What happens between the source and the destination of a conversion."""

    crop: _Rectangle | None
    into: _Rectangle | None
    fit: Literal["stretch", "letterbox", "cover"]
    fill: Sequence[int]
    rotation: Literal[0, 90, 180, 270]
    flip_horizontal: bool
    flip_vertical: bool
    filter: Literal["nearest", "bilinear", "antialiased", "area", "bicubic", "lanczos3"]
    colour: tuple[_Matrix, _Range] | None
    siting: Literal["centre", "left"] | None
    scale: float
    mean: Sequence[float]
    std: Sequence[float]
    quantize: tuple[float, int] | None

@final
class ImageProcessor:
    """Converts pictures between tensors: format, size, place, values, in one pass."""

    def __new__(
        cls, engines: Sequence[str] | None = None, threads: int | None = None
    ) -> ImageProcessor: ...
    @property
    def engines(self) -> list[str]: ...
    def engine(self, source: Tensor, destination: Tensor, **how: Unpack[_How]) -> str: ...
    def explain(
        self, source: Tensor, destination: Tensor, **how: Unpack[_How]
    ) -> list[tuple[str, bool, str]]: ...
    def convert(
        self,
        source: Tensor,
        destination: Tensor,
        *,
        crop: _Rectangle | None = None,
        into: _Rectangle | None = None,
        fit: Literal["stretch", "letterbox", "cover"] = "stretch",
        fill: Sequence[int] = ...,
        rotation: Literal[0, 90, 180, 270] = 0,
        flip_horizontal: bool = False,
        flip_vertical: bool = False,
        filter: Literal[
            "nearest", "bilinear", "antialiased", "area", "bicubic", "lanczos3"
        ] = "antialiased",
        colour: tuple[_Matrix, _Range] | None = None,
        siting: Literal["centre", "left"] | None = None,
        scale: float = 1.0,
        mean: Sequence[float] = ...,
        std: Sequence[float] = ...,
        quantize: tuple[float, int] | None = None,
    ) -> Placement: ...
    def convert_later(
        self, source: Tensor, destination: Tensor, **how: Unpack[_How]
    ) -> tuple[Placement, Fence]: ...
    def convert_batch(
        self, sources: Sequence[Tensor], batch: Tensor, **how: Unpack[_How]
    ) -> list[Placement]: ...

def copy_all(pairs: Sequence[tuple[Tensor, Tensor | _Array]]) -> None: ...
def copy_all_later(pairs: Sequence[tuple[Tensor, Tensor | _Array]]) -> list[Fence]: ...
def open_device(word: str) -> Device: ...
def survey() -> tuple[
    list[tuple[str, str, str, str, list[_Heap], list[str], str | None]], list[tuple[str, str]]
]: ...
def from_dlpack(
    x: Tensor | _Array, /, *, device: tuple[int, int] | None = None, copy: bool | None = None
) -> Tensor: ...
def from_fd(
    fd: int | _HasFileno, shape: _Shape, dtype: object = "f32", name: str | None = None
) -> Tensor: ...
def from_planes(
    planes: Sequence[tuple[int | _HasFileno, int, int | None]],
    width: int,
    height: int,
    format: str,
    dtype: object = "u8",
) -> Tensor: ...
def send(socket: int | _HasFileno, tensor: Tensor, *, read_only: bool = False) -> None: ...
def receive(socket: int | _HasFileno) -> Tensor: ...
def open(path: _Path) -> File: ...
def open_raw(path: _Path, shape: _Shape, dtype: object = "f32", offset: int = 0) -> File: ...
def save(
    path: _Path,
    tensors: Tensor | Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
) -> int: ...
def read_image(path: _Path, memory: _Memory | None = None) -> Tensor: ...
def save_image(path: _Path, picture: Tensor) -> int: ...
def decode_image(data: Buffer, memory: _Memory | None = None) -> Tensor: ...
def encode_image(
    picture: Tensor, format: Literal["jpeg", "png"], *, quality: int | None = None
) -> bytes: ...
def usage_of(memory: str) -> tuple[int, int, int, int]: ...
def allocations() -> list[tuple[int, str, int, str | None]]: ...
def plan_json(
    schedule: str, mode: str, packer: str, seconds: float | None, threads: int | None
) -> str: ...
def schedule_json(path: _Path, dims: Mapping[str, int], arena: bool) -> str: ...
