"""Tensors in other processes: descriptors, sockets, multiprocessing. Nothing is copied."""

import multiprocessing
import os
import pickle
import signal
import socket
import threading

import numpy as np
import pytest

import tenure
from tenure import Tensor


def test_a_descriptor_is_the_memory(descriptors):
    before = descriptors()
    t = Tensor((4, 4), "i32", "shm")
    fd = t.fd()
    same = tenure.from_fd(fd, (4, 4), "i32", "same")
    os.close(fd)
    np.asarray(same)[1, 1] = 5
    assert np.asarray(t)[1, 1] == 5 and same.name == "same"
    with pytest.raises(OSError):
        tenure.from_fd(fd, (4, 4))
    with pytest.raises(ValueError):
        tenure.from_fd(t.fd(), (1 << 20,))
    del t, same
    assert descriptors() <= before + 1  # The one of the refused call is the caller's.


def test_sockets():
    here, there = socket.socketpair()
    t = Tensor.image(64, 48, "nv12", memory="shm", name="frame")
    tenure.send(here, t)
    same = tenure.receive(there.fileno())
    assert (same.format, same.shape, same.name) == ("nv12", (72, 64), "frame")
    np.asarray(same)[0, 0] = 9
    assert np.asarray(t)[0, 0] == 9
    tenure.send(here, t[1::2, ::2], read_only=True)
    part = tenure.receive(there)
    assert part.readonly and part.strides == (128, 2)
    np.asarray(t)[1, 0] = 4
    assert np.asarray(part)[0, 0] == 4
    here.send(b"something else altogether, and long enough for a head")
    with pytest.raises(ValueError, match="message"):
        tenure.receive(there)
    here.close()
    with pytest.raises((ConnectionError, ValueError)):
        tenure.receive(there)
    with pytest.raises(OSError, match="shm"):
        tenure.send(there, Tensor((3,), memory="mem"))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_passes_the_memory(method, descriptors):
    context = multiprocessing.get_context(method)
    # What multiprocessing itself starts stays.
    context.Queue().put(None)
    t = Tensor((8,), "i64", "shm", "work")
    there, back = context.Queue(), context.Queue()
    child = context.Process(target=relay, args=(t[::2], there, back))
    child.start()
    shape, strides, name, answer = there.get(timeout=60)
    assert (shape, strides) == ((4,), (2,))
    assert np.asarray(answer).tolist() == [1, 2] and answer.memory == "shm"
    assert np.asarray(t)[0] == child.pid, "the child wrote into our memory"
    np.asarray(answer)[0] = 50
    back.put(t)
    child.join(60)
    assert child.exitcode == 0
    assert np.asarray(t)[1] == 50, "what we wrote into the child's memory, it has seen"


def relay(tensor, there, back):
    np.asarray(tensor)[0] = os.getpid()
    answer = Tensor((2,), "i64", "shm", "answer")
    np.asarray(answer)[:] = [1, 2]
    there.put((tensor.shape, tensor.strides, tensor.name, answer))
    whole = back.get(timeout=60)
    np.asarray(whole)[1] = np.asarray(answer)[0]


def test_descriptors_are_closed(descriptors):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    t = Tensor((8,), "i64", "shm")
    for turn in range(12):
        queue.put(t)
        np.asarray(queue.get(timeout=60))[0] = turn
        if turn == 1:
            before = descriptors()
    assert np.asarray(t)[0] == 11
    assert descriptors() <= before


def test_what_is_not_passed():
    with pytest.raises(TypeError, match="multiprocessing"):
        pickle.dumps(Tensor((3,)))
    with pytest.raises(OSError, match="shm"):
        multiprocessing.reduction.ForkingPickler.dumps(Tensor((3,), memory="mem"))


def test_waiting_ends_with_a_signal():
    here, there = socket.socketpair()

    def ring(*_):
        raise InterruptedError("rung")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        # However late the wait begins: it may ring before.
        with pytest.raises(InterruptedError, match="rung"):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            tenure.receive(there)
    finally:
        signal.signal(signal.SIGALRM, before)
    del here


def test_others_run_while_one_waits():
    here, there = socket.socketpair()
    received = []
    thread = threading.Thread(target=lambda: received.append(tenure.receive(there)))
    thread.start()
    # With the lock held by the one that waits, this would never be reached.
    tenure.send(here, Tensor((2,), "u8", "shm"))
    thread.join(60)
    assert received[0].shape == (2,)
