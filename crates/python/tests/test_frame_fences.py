"""Frames that a device still writes or reads, and what else a frame says."""

import os
import time

import numpy as np
import pytest

import tenure
from tenure import Fence


@pytest.fixture
def here(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def work():
    """A fence, and what makes it done."""
    ends = []

    def begin():
        reads, writes = os.pipe()
        ends.append(writes)
        fence = Fence.from_fd(reads)
        os.close(reads)
        return fence, lambda: os.write(writes, b"1")

    yield begin
    for end in ends:
        os.close(end)


def test_a_fence_by_its_descriptor(work):
    fence, finish = work()
    assert not fence.done and not fence.wait(0.01)
    finish()
    assert fence.wait(5) and fence.done
    with pytest.raises(ValueError):
        Fence.from_fd(-1)
    with pytest.raises(OSError):
        Fence.from_fd(999_999)


def test_frames_that_are_still_written(here, work):
    with tenure.Publisher("f", (4,), "u8", directory=here) as publisher:
        explicit = tenure.subscribe("f", explicit_fences=True, directory=here)
        usual = tenure.subscribe("f", directory=here)
        fence, finish = work()
        slot = publisher.frame()
        with slot as view:
            view[0] = 7
            slot.complete_after(fence)
        with pytest.raises(RuntimeError, match="published"):
            slot.complete_after(fence)
        frame = explicit.next(5)
        assert frame.fence is not None and not frame.fence.done
        assert usual.next(0.05) is None
        finish()
        assert frame.fence.wait(5)
        complete = usual.next(5)
        assert complete.fence is None and complete.tensor.tobytes()[0] == 7
        fence, finish = work()
        publisher.publish(tenure.Tensor((4,), "u8", "shm"), fence=fence)
        frame = explicit.next(5)
        assert not frame.fence.done
        finish()
        assert frame.fence.wait(5)
        publisher.publish(tenure.Tensor((4,), "u8", "shm"))
        assert explicit.next(5).fence is None


def test_memory_that_is_still_read_is_not_written(here, work):
    publisher = tenure.Publisher("r", (4,), "u8", claims=1, credits=2, directory=here)
    subscriber = tenure.subscribe("r", credits=2, directory=here)

    def publish(number):
        with publisher.frame() as view:
            view[0] = number
        return subscriber.next(5)

    fence, finish = work()
    frame = publish(1)
    read = frame.slot
    frame.release_after(fence)
    # The frame itself stays as it is for as long as somebody has it.
    assert np.asarray(frame)[0] == 1 and frame.fence is None
    with pytest.raises(RuntimeError, match="already"):
        frame.release_after(fence)
    del frame
    assert read not in {publish(number).slot for number in range(2, 8)}
    finish()
    deadline = time.monotonic() + 10
    while publish(9).slot != read:
        assert time.monotonic() < deadline
    publisher.close()


def test_what_else_a_frame_says(here):
    with tenure.Publisher("w", (4,), "u8", memory="shm", directory=here) as publisher:
        subscriber = tenure.subscribe("w", directory=here)
        with publisher.frame() as view:
            view[0] = 1
        frame = subscriber.next(5)
        assert frame.guarded in ("sealed", "read-only", "open")
        assert frame.slot >= 0 and frame.generation >= 0
        assert frame.incarnation == tenure.stat("w", directory=here)["incarnation"]


def test_a_frame_gives_its_memory_back_when_it_goes(here):
    with tenure.Publisher("g", (4,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("g", credits=1, directory=here)
        for number in range(20):
            with publisher.frame() as view:
                view[0] = number
            frame = subscriber.next(5)
            assert subscriber.held == 1
            tensor = frame.tensor
            del frame
            assert subscriber.held == 1 and tensor.tobytes()[0] == number
            del tensor
            assert subscriber.held == 0
