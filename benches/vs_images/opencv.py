"""Answers each line, `FORMAT WIDTH HEIGHT SIDE`, with the nanoseconds that one frame takes in OpenCV:
into a letterboxed square of red, green and blue, in one thread, into memory that is kept."""

import sys
import time

import cv2
import numpy as np

CALLS = 8
GREY = 114

cv2.setNumThreads(1)
noise = np.random.default_rng(1)


def letterbox(width, height, side, channels):
    """The square, and the part of it that the picture fills."""
    scale = min(side / width, side / height)
    w, h = round(width * scale), round(height * scale)
    left, top = (side - w) // 2, (side - h) // 2
    square = np.empty((side, side, channels), np.uint8)
    outside = [square[:top], square[top + h :], square[:, :left], square[:, left + w :]]
    outside = [part for part in outside if part.size]
    return square, outside, square[top : top + h, left : left + w], (w, h)


def nv12(width, height, side):
    frame = noise.integers(0, 256, (height * 3 // 2, width), np.uint8)
    rgb = np.empty((height, width, 3), np.uint8)
    _, outside, inside, size = letterbox(width, height, side, 3)

    def convert():
        for part in outside:
            part[:] = GREY
        cv2.cvtColor(frame, cv2.COLOR_YUV2RGB_NV12, dst=rgb)
        cv2.resize(rgb, size, dst=inside, interpolation=cv2.INTER_LINEAR)

    return convert


def rgba(width, height, side):
    frame = noise.integers(0, 256, (height, width, 4), np.uint8)
    square, outside, inside, size = letterbox(width, height, side, 4)
    rgb = np.empty((side, side, 3), np.uint8)

    def convert():
        for part in outside:
            part[:] = GREY
        cv2.resize(frame, size, dst=inside, interpolation=cv2.INTER_LINEAR)
        cv2.cvtColor(square, cv2.COLOR_RGBA2RGB, dst=rgb)

    return convert


made = {}
for line in sys.stdin:
    if line not in made:
        kind, *sizes = line.split()
        made[line] = {"nv12": nv12, "rgba": rgba}[kind](*map(int, sizes))
    convert = made[line]
    start = time.process_time_ns()
    for _ in range(CALLS):
        convert()
    print((time.process_time_ns() - start) / CALLS, flush=True)
