"""Tensors as arguments of multiprocessing: the memory goes by descriptor, nothing is copied.

What is pickled is one end of a socket in which the tensor waits as a message; whoever unpickles it
receives it from there. So everything that `send` tells of a tensor arrives.
"""

import socket
from multiprocessing import context, reduction
from typing import Any

from ._tenure import Tensor, receive, send


def register() -> None:
    """Teaches multiprocessing what a tensor is."""
    reduction.ForkingPickler.register(Tensor, _reduce)


def _reduce(tensor: Tensor) -> tuple[Any, ...]:
    ours, theirs = socket.socketpair()
    with ours:
        send(ours, tensor)
    descriptor = reduction.DupFd(theirs.fileno())
    child = context.get_spawning_popen()
    if child is None:
        # The descriptor was duplicated.
        theirs.close()
    else:
        # The child inherits this very descriptor, when it starts.
        child.__dict__.setdefault("_tenure_sockets", []).append(theirs)
    return _rebuild, (descriptor,)


def _rebuild(descriptor: Any) -> Tensor:
    with socket.socket(fileno=descriptor.detach()) as theirs:
        return receive(theirs)
