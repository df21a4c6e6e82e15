"""Answers each line `WHAT NAME PATH` with the nanoseconds that it takes.

Time is that of the processor, but for what ends in `wall`. A page is touched by reading a byte of it.
"""

import json
import sys
import time

import numpy
import tenure
from safetensors import safe_open
from safetensors.numpy import load_file

PAGE = 4096


def pages(array):
    return int(array.reshape(-1).view(numpy.uint8)[::PAGE].sum())


def touch(name, path):
    with safe_open(path, framework="np") as file:
        return pages(file.get_tensor(name))


def memmap(name, path):
    """What one does without the package: the head by hand, and a map of the tensor."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = json.loads(file.read(length))
    begin, end = head[name]["data_offsets"]
    return pages(numpy.memmap(path, numpy.uint8, "r", 8 + length + begin, (end - begin,)))


def load(name, path):
    return load_file(path)


def our_touch(name, path):
    return pages(numpy.from_dlpack(tenure.open(path)[name]))


def our_load(name, path):
    return tenure.open(path).load(memory="mem")


WAYS = {
    "touch": touch,
    "memmap": memmap,
    "load": load,
    "load_wall": load,
    "our_touch": our_touch,
    "our_load_wall": our_load,
}

for line in sys.stdin:
    what, name, path = line.rstrip("\n").split(" ", 2)
    clock = time.perf_counter_ns if what.endswith("wall") else time.process_time_ns
    start = clock()
    kept = WAYS[what](name, path)
    print(clock() - start, flush=True)
    del kept
