"""One way of a frame as Python programs do it: shared memory, and a pipe that says so."""

import os
import struct
import sys
import time
from multiprocessing import shared_memory

FRAME = 8 << 20
memory = shared_memory.SharedMemory(create=True, size=FRAME)
wake_out, wake_in = os.pipe()
back_out, back_in = os.pipe()

if os.fork() == 0:
    os.close(wake_in)
    if processors := os.environ.get("TENURE_BENCH_PROCESSORS"):
        os.sched_setaffinity(0, map(int, processors.split(",")))
    frame = shared_memory.SharedMemory(name=memory.name)
    while os.read(wake_out, 8):
        first = frame.buf[0]
        os.write(back_in, struct.pack("<Q", time.monotonic_ns()))
    os._exit(0)

for line in sys.stdin:
    count = int(line)
    if count == 0:
        break
    sent = []
    for number in range(count):
        time.sleep(0.0003)
        memory.buf[0] = number % 256
        time.sleep(0.0003)
        sent.append(time.monotonic_ns())
        os.write(wake_in, b"8 bytes.")
    # Afterwards: a sender that waits for the answer wakes the receiver differently.
    arrived = [struct.unpack("<Q", os.read(back_out, 8))[0] for _ in sent]
    times = [later - before for before, later in zip(sent, arrived)]
    times.sort()
    print(times[len(times) // 2], flush=True)

os.close(wake_in)
memory.close()
memory.unlink()
