"""One memory layer under every tensor: where it lives, and for how long.

>>> import tenure
>>> t = tenure.Tensor((2, 3), "f32", memory="shm")
>>> with t.map() as view:
...     view[0, 0] = 1.5
>>> t[0, 0]
Tensor(shape=(), dtype='f32', memory='shm')

numpy, torch, jax and others take tensors by DLPack (`numpy.from_dlpack(t)`) or by the buffer
protocol (`numpy.asarray(t)`), and give theirs to `tenure.from_dlpack`, without a copy. For torch
that is `torch.from_dlpack(t)`: `torch.asarray` takes the bytes of everything that has a buffer, and
makes a flat row of float32 of them, whatever their shape and type are. It asks for them as
`file.write` does, so that it cannot be refused: where a function that names `asarray` does so, there is
a RuntimeWarning.

`tenure.devices()` lists GPUs, `tenure.open_device("vulkan:0")` opens one, and `t.to("vulkan:0")`
copies a tensor there.
"""

from . import _processes
from ._devices import DeviceInfo, Devices, Heap, devices
from ._plan import Arena, Plan, plan, read_model
from ._statistics import Live, Usage, live_memory, usage
from ._tenure import (
    BusyError,
    DamagedError,
    Device,
    Fence,
    File,
    ForkedError,
    Frame,
    ImageProcessor,
    Mapped,
    NotFoundError,
    Placement,
    Pool,
    Publisher,
    ReadOnlyError,
    Recorder,
    Slot,
    Subscriber,
    Tensor,
    UnsupportedError,
    WrongTypeError,
    copy_all,
    copy_all_later,
    decode_image,
    encode_image,
    from_dlpack,
    from_fd,
    from_planes,
    open,
    open_device,
    open_raw,
    read_image,
    receive,
    replay,
    save,
    save_image,
    send,
    stat,
    streams,
    subscribe,
)

__all__ = [
    "Arena",
    "BusyError",
    "DamagedError",
    "Device",
    "DeviceInfo",
    "Devices",
    "Fence",
    "File",
    "ForkedError",
    "Frame",
    "Heap",
    "ImageProcessor",
    "Live",
    "Mapped",
    "NotFoundError",
    "Placement",
    "Plan",
    "Pool",
    "Publisher",
    "ReadOnlyError",
    "Recorder",
    "Slot",
    "Subscriber",
    "Tensor",
    "UnsupportedError",
    "Usage",
    "WrongTypeError",
    "copy_all",
    "copy_all_later",
    "decode_image",
    "devices",
    "encode_image",
    "from_dlpack",
    "from_fd",
    "from_planes",
    "live_memory",
    "open",
    "open_device",
    "open_raw",
    "plan",
    "read_image",
    "read_model",
    "receive",
    "replay",
    "save",
    "save_image",
    "send",
    "stat",
    "streams",
    "subscribe",
    "usage",
]

_processes.register()
