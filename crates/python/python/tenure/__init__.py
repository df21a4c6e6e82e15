"""One memory layer under every tensor: where it lives, and for how long.

>>> import tenure
>>> t = tenure.Tensor((2, 3), "f32", memory="shm")
>>> with t.map() as view:
...     view[0, 0] = 1.5
>>> t[0, 0]
Tensor(shape=(), dtype='f32', memory='shm')

numpy, torch, jax and others take tensors by DLPack (`numpy.from_dlpack(t)`) or by the buffer
protocol (`numpy.asarray(t)`), and give theirs to `tenure.from_dlpack`, without a copy.
"""

from . import _processes
from ._plan import Arena, Plan, plan
from ._tenure import (
    File,
    Frame,
    ImageProcessor,
    Mapped,
    Placement,
    Publisher,
    Slot,
    Subscriber,
    Tensor,
    from_dlpack,
    from_fd,
    open,
    read_image,
    receive,
    save,
    save_image,
    send,
    stat,
    streams,
    subscribe,
)

__all__ = [
    "Arena",
    "File",
    "Frame",
    "ImageProcessor",
    "Mapped",
    "Placement",
    "Plan",
    "Publisher",
    "Slot",
    "Subscriber",
    "Tensor",
    "from_dlpack",
    "from_fd",
    "open",
    "plan",
    "read_image",
    "receive",
    "save",
    "save_image",
    "send",
    "stat",
    "streams",
    "subscribe",
]

_processes.register()
