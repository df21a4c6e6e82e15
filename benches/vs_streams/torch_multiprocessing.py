"""One way of a frame through torch.multiprocessing: a tensor in shared memory through its queue. Told
on standard input how many to send, answers with the median in nanoseconds."""

import os
import sys
import time

import torch.multiprocessing

FRAME = 8 << 20
FRAMES = 4


def consume(frames, arrived):
    if processors := os.environ.get("TENURE_BENCH_PROCESSORS"):
        os.sched_setaffinity(0, map(int, processors.split(",")))
    while (frame := frames.get()) is not None:
        at = time.monotonic_ns()
        assert frame.numel() == FRAME
        del frame
        arrived.put(at)


torch.set_num_threads(1)
pool = [torch.zeros(FRAME, dtype=torch.uint8).share_memory_() for _ in range(FRAMES)]
context = torch.multiprocessing.get_context("fork")
frames, arrived = context.SimpleQueue(), context.SimpleQueue()
consumer = context.Process(target=consume, args=(frames, arrived), daemon=True)
consumer.start()

for line in sys.stdin:
    count = int(line)
    if count == 0:
        break
    sent = []
    for number in range(count):
        time.sleep(0.0003)
        frame = pool[number % FRAMES]
        frame[0] = number % 256
        time.sleep(0.0003)
        sent.append(time.monotonic_ns())
        frames.put(frame)
    # Afterwards: a sender that waits for the answer wakes the receiver differently.
    times = [arrived.get() - before for before in sent]
    times.sort()
    print(times[len(times) // 2], flush=True)

frames.put(None)
consumer.join()
