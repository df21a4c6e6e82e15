"""A consumer in Python, which plays the part that the environment names, as part.rs does."""

import os
import socket
import struct
import time

import tenure

if processors := os.environ.get("TENURE_BENCH_PROCESSORS"):
    os.sched_setaffinity(0, map(int, processors.split(",")))
directory, _stream, name = os.environ["TENURE_BENCH_PART"].split(" ")
told = socket.socket(socket.AF_UNIX)
told.connect(os.path.join(directory, "told"))
subscriber = tenure.subscribe(name, credits=4, directory=directory)

while request := told.recv(8, socket.MSG_WAITALL):
    (count,) = struct.unpack("<Q", request)
    told.sendall(b"!")
    times = []
    for frame in subscriber:
        times.append(time.monotonic_ns())
        # Given back before the next one is waited for.
        del frame
        if len(times) == count:
            break
    told.sendall(struct.pack(f"<{count}Q", *times))
