"""Messages that claim more elements than bytes can be counted."""

import array
import os
import socket
import struct
import subprocess
import sys

import numpy as np
import pytest

import tenure
from tenure import Tensor

HEAD = struct.Struct("<4sHHI")
# Flags, element type, rank, offset, and of each dimension its length and its stride.
BODY = "<BBBQ"
F64, U8, U4 = 11, 0, 15


def message(dtype, dims, offset=0):
    body = struct.pack(BODY, 0, dtype, len(dims), offset)
    body += b"".join(struct.pack("<Qq", *dim) for dim in dims)
    return HEAD.pack(b"TNUR", 1, 1, len(body)) + body


def received(data):
    """What a process gets that is sent this with 64 bytes of memory."""
    memory = Tensor((64,), "u8", "shm")
    here, there = socket.socketpair()
    fd = memory.fd()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    try:
        here.sendmsg([data], rights)
        return tenure.receive(there)
    finally:
        os.close(fd)
        here.close()
        there.close()


def test_the_message_is_what_send_writes():
    here, there = socket.socketpair()
    tenure.send(here, Tensor((64,), "f64", "shm")[::2])
    data, ancillary, _, _ = there.recvmsg(4096, socket.CMSG_SPACE(64))
    for _, _, fds in ancillary:
        for fd in array.array("i", fds[: len(fds) // 4 * 4]):
            os.close(fd)
    assert data == message(F64, [(32, 2)])
    assert received(message(F64, [(8, 1)])).shape == (8,)
    assert bytes(received(message(F64, [(3, 0), (2, 1)]))) == bytes(48)


@pytest.mark.parametrize(
    "dtype, dims",
    [
        (F64, [(2**61 + 1, 0)]),
        (F64, [(2**60, 0)]),
        (F64, [(2**31, 0), (2**31, 0)]),
        (F64, [(0, 0), (2**61 + 1, 0)]),
        (F64, [(2**61 + 1, 0), (0, 1)]),
        (U8, [(2**63, 0)]),
        (U8, [(2**64 - 1, 0)]),
        (U8, [(2**32, 0), (2**32, 0)]),
        (U4, [(2**63, 0), (2, 1)]),
    ],
)
def test_more_elements_than_bytes_can_be_counted_are_refused(dtype, dims):
    with pytest.raises(ValueError, match=r"bytes|elements|addressed|fit"):
        received(message(dtype, dims))


# In a process of its own: it would have written over the heap.
BYTES = """
import sys
sys.path.insert(0, {folder!r})
import test_untrusted_sizes as test
try:
    t = test.received(test.message(test.F64, [(2**61 + 1, 0)]))
    print(len(bytes(t)))
except (ValueError, MemoryError):
    print("refused")
"""


def test_no_heap_is_written_over():
    program = BYTES.format(folder=os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr


def test_repeated_elements_can_be_counted_but_not_copied():
    """As many as can be counted are a tensor; nothing allocates for them what is not there."""
    t = tenure.from_dlpack(np.broadcast_to(np.zeros(1), (2**60 - 1,)))
    assert t.nbytes == 8 * (2**60 - 1) and memoryview(t).nbytes == t.nbytes
    # Far more than any machine has: refused before anything is written.
    for attempt in (bytes, Tensor.tobytes, lambda t: t.to("mem"), lambda t: t.to("shm")):
        with pytest.raises((MemoryError, OverflowError, OSError, ValueError)):
            attempt(t)
    assert t[0].shape == () and t[5:9].tobytes() == bytes(32)
