"""Answers each line, the name of an exchange, with the nanoseconds that one takes."""

import sys
import time

import numpy as np
import tenure
import tvm_ffi
from tvm_ffi.core import DLTensorTestWrapper

SHAPE = (1, 3, 224, 224)
CALLS = 20000

ours = tenure.Tensor(SHAPE, "f32", "mem")
array = np.zeros(SHAPE, np.float32)
# A tensor of another library whose type has the table.
foreign = DLTensorTestWrapper(tvm_ffi.from_dlpack(array))


def by_capsule(x):
    return tenure.from_dlpack(x.__dlpack__(max_version=(1, 0)))


EXCHANGES = {
    "tenure to numpy": (np.from_dlpack, ours),
    "numpy to numpy": (np.from_dlpack, array),
    "table to tenure": (tenure.from_dlpack, foreign),
    "capsule to tenure": (by_capsule, foreign),
}

for line in sys.stdin:
    exchange, x = EXCHANGES[line.strip()]
    calls = range(CALLS)
    start = time.thread_time_ns()
    for _ in calls:
        exchange(x)
    print((time.thread_time_ns() - start) / CALLS, flush=True)
