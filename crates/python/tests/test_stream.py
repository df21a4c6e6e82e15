"""Streams: from one process to others, without a copy."""

import asyncio
import multiprocessing
import os
import select
import signal
import threading
import time

import numpy as np
import pytest

import tenure


@pytest.fixture
def here(tmp_path):
    return tmp_path


def test_a_frame_arrives_with_what_was_said_of_it(here):
    with tenure.Publisher("cam", (2, 3), "i32", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        assert (subscriber.name, publisher.consumers) == ("cam", 1)
        assert tenure.streams(directory=here) == ["cam"]
        assert subscriber.next(timeout=0) is None
        with publisher.frame(timestamp=1.5, blob=b"more") as view:
            view[1, 2] = 7
        assert select.select([subscriber], [], [], 5)[0]
        frame = subscriber.next(timeout=5)
        assert (frame.sequence, frame.timestamp, frame.blob) == (0, 1.5, b"more")
        assert (frame.dropped, frame.age >= 0) == (0, True)
        array = np.from_dlpack(frame.tensor)
        assert array.tolist() == [[0, 0, 0], [0, 0, 7]]
        assert not array.flags.writeable


def test_iterating_gives_tensors_until_the_stream_ends(here):
    def produce():
        with tenure.Publisher("count", (4,), "u8", directory=here) as publisher:
            while not publisher.consumers:
                time.sleep(0.001)
            for index in range(5):
                with publisher.frame() as view:
                    view[0] = index
            # Frames on their way are received after the end.

    child = multiprocessing.get_context("fork").Process(target=produce)
    child.start()
    got = []
    for tensor in tenure.subscribe("count", credits=8, wait=10, directory=here):
        assert isinstance(tensor, tenure.Tensor)
        got.append(int(np.asarray(tensor)[0]))
    child.join()
    assert got == [0, 1, 2, 3, 4] and child.exitcode == 0


def test_tensors_go_as_they_are_or_as_copies(here):
    publisher = tenure.Publisher("any", directory=here)
    subscriber = tenure.subscribe("any", directory=here)
    shared = tenure.Tensor((3,), "f32", "shm")
    np.asarray(shared)[:] = [1, 2, 3]
    assert publisher.publish(shared) == 1
    assert np.asarray(subscriber.next(5).tensor).tolist() == [1, 2, 3]
    heap = tenure.Tensor((2,), "i64", "mem")
    np.asarray(heap)[:] = [4, 5]
    with pytest.raises(OSError, match="mem"):
        publisher.publish(heap)
    assert publisher.publish(heap, copy=True) == 1
    assert np.asarray(subscriber.next(5).tensor).tolist() == [4, 5]


def test_a_failed_block_publishes_nothing(here):
    with tenure.Publisher("cam", (2,), "u8", claims=1, directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        with pytest.raises(ZeroDivisionError), publisher.frame() as view:
            view[0] = 1 // 0
        # The slot came back: there is but one to claim.
        with publisher.frame() as view:
            view[0] = 9
        assert np.asarray(subscriber.next(5).tensor)[0] == 9


def test_arrays_that_are_kept_do_not_use_up_frames(here):
    with tenure.Publisher("cam", (2,), "u8", claims=1, directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        kept = []
        for index in range(5):
            with pytest.raises(ZeroDivisionError), publisher.frame() as view:
                kept.append(np.asarray(view))
                kept[-1][:] = 1 // 0
            with publisher.frame() as view:
                kept.append(np.asarray(view))
                kept[-1][:] = index
            assert np.asarray(subscriber.next(5).tensor).tolist() == [index, index]
        assert [array.tolist() for array in kept[1::2]] == [[n, n] for n in range(5)]


def test_held_frames_outlive_a_producer_that_was_killed(here):
    def produce():
        publisher = tenure.Publisher("cam", (1 << 20,), "u8", directory=here)
        while not publisher.consumers:
            time.sleep(0.001)
        with publisher.frame() as view:
            view[:] = bytes([7]) * len(view)
        time.sleep(60)

    child = multiprocessing.get_context("fork").Process(target=produce)
    child.start()
    subscriber = tenure.subscribe("cam", wait=10, directory=here)
    frame = np.asarray(next(subscriber))
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    with pytest.raises(ConnectionError, match="died"):
        subscriber.next(timeout=5)
    assert frame.min() == frame.max() == 7
    assert tenure.streams(directory=here) == []


def test_wrong_things_are_said(here):
    with pytest.raises(FileNotFoundError, match="nobody publishes"):
        tenure.subscribe("none", directory=here)
    with pytest.raises(ValueError, match="no name"):
        tenure.Publisher("../out", (1,), directory=here)
    with pytest.raises(ValueError, match="seconds"):
        tenure.subscribe("none", wait=-1, directory=here)
    with pytest.raises(ValueError, match="not both"):
        tenure.Publisher("a", (1,), like=tenure.Tensor((1,)), directory=here)
    publisher = tenure.Publisher("one", (1,), directory=here)
    with pytest.raises(FileExistsError, match="producer already"):
        tenure.Publisher("one", (1,), directory=here)
    publisher.close()
    with pytest.raises(RuntimeError, match="closed"):
        publisher.frame()


def test_a_signal_ends_the_wait(here):
    publisher = tenure.Publisher("quiet", (1,), directory=here)
    subscriber = tenure.subscribe("quiet", directory=here)
    signal.signal(signal.SIGALRM, lambda *_: 1 // 0)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(ZeroDivisionError):
        next(subscriber)
    publisher.close()


def test_nothing_is_left_open(here, descriptors):
    before = descriptors()
    for _ in range(3):
        with tenure.Publisher("cam", (8,), "u8", directory=here) as publisher:
            subscriber = tenure.subscribe("cam", directory=here)
            for _ in range(10):
                with publisher.frame() as view:
                    view[0] = 1
                next(subscriber)
        del subscriber
    assert descriptors() == before


def test_a_signal_ends_waiting_for_a_producer(here):
    signal.signal(signal.SIGALRM, lambda *_: 1 // 0)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(ZeroDivisionError):
        tenure.subscribe("nobody", wait=3600, directory=here)


def test_frames_wake_asyncio(here):
    async def consume(subscriber, count):
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(subscriber, ready.set)
        seen = []
        while len(seen) < count:
            await asyncio.wait_for(ready.wait(), 60)
            ready.clear()
            while (frame := subscriber.next(timeout=0)) is not None:
                seen.append(frame.sequence)
        loop.remove_reader(subscriber)
        return seen

    async def produce(publisher, count):
        for number in range(count):
            with publisher.frame() as view:
                view[0] = number
            await asyncio.sleep(0.005)

    async def both():
        with tenure.Publisher("cam", (8,), "u8", directory=here) as publisher:
            subscriber = tenure.subscribe("cam", credits=16, directory=here)
            return (await asyncio.gather(consume(subscriber, 10), produce(publisher, 10)))[0]

    assert asyncio.run(both()) == list(range(10))


def test_a_subscriber_ends_and_follows(here):
    publisher = tenure.Publisher("cam", (1,), credits=4, credits_each=2, directory=here)
    with tenure.subscribe("cam", credits=9, directory=here) as subscriber:
        told = tenure.stat("cam", directory=here)
        assert (told["credits"], told["granted"], subscriber.credits) == (4, 2, 2)
        assert told["consumers"][0]["pid"] == os.getpid()
    with pytest.raises(RuntimeError, match="closed"):
        subscriber.next()
    follower = tenure.subscribe("cam", follow=True, directory=here)
    publisher.close()
    assert follower.next(timeout=0) is None
    with tenure.Publisher("cam", (1,), evict_after=5, directory=here) as publisher:
        while not publisher.consumers:
            assert follower.next(timeout=0.01) is None
        with publisher.frame():
            pass
        assert follower.next(timeout=60).sequence == 0
    with pytest.raises(FileNotFoundError, match="nobody publishes"):
        tenure.stat("cam", directory=here)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_ends_nothing(here):
    with tenure.Publisher("cam", (4,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        with publisher.frame() as view:
            view[:] = b"abcd"
        frame = subscriber.next(timeout=60)
        child = os.fork()
        if child == 0:
            told = 0
            for inherited in (publisher.frame, subscriber.latest):
                try:
                    inherited()
                except RuntimeError as error:
                    told += "forked off" in str(error)
            publisher.close()
            subscriber.close()
            del frame
            os._exit(0 if told == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert tenure.stat("cam", directory=here)["consumers"][0]["held"] == 1
        with publisher.frame() as view:
            view[:] = b"efgh"
        assert bytes(np.asarray(subscriber.next(timeout=60).tensor)) == b"efgh"
        assert bytes(np.asarray(frame.tensor)) == b"abcd"
        assert tenure.streams(directory=here) == ["cam"]


def test_holding_every_frame_and_asking_for_more_is_said(here):
    publisher = tenure.Publisher("full", (4,), "u8", directory=here)
    subscriber = tenure.subscribe("full", directory=here)

    def publish():
        with publisher.frame() as view:
            view[0] = 1

    kept = []
    publish()
    with pytest.raises(BufferError, match="all 3 frames.*drop one.*wait_when_full=True"):
        for tensor in subscriber:
            kept.append(tensor)
            publish()
    assert (len(kept), subscriber.held, subscriber.dropped) == (3, 3, 1)
    with pytest.raises(BufferError):
        subscriber.next()
    with pytest.warns(RuntimeWarning, match="all 3 frames"):
        assert subscriber.next(timeout=0.01) is None
    assert subscriber.next(timeout=0) is None
    with pytest.warns(RuntimeWarning, match="all 3 frames.*drop one"):
        assert subscriber.latest() is None
    with pytest.warns(RuntimeWarning, match="all 3 frames.*drop one"):
        assert select.select([subscriber], [], [], 0.01)[0] == []
    for lost in range(2, 5):
        publish()
        assert subscriber.dropped == lost
    kept.clear()
    publish()
    assert subscriber.next().dropped == 4


def test_another_thread_may_let_go(here):
    publisher = tenure.Publisher("full", (4,), "u8", directory=here)
    subscriber = tenure.subscribe("full", credits=1, wait_when_full=True, directory=here)
    with publisher.frame() as view:
        view[0] = 1
    kept = [subscriber.next()]

    def let_go():
        kept.clear()
        with publisher.frame() as view:
            view[0] = 2

    timer = threading.Timer(0.05, let_go)
    timer.start()
    assert np.asarray(subscriber.next().tensor)[0] == 2
    timer.join()


def test_frames_are_as_declared(here):
    publisher = tenure.Publisher("q", (4,), "u8", directory=here)
    for wrong in [tenure.Tensor((5,), "u8", "shm"), tenure.Tensor((4,), "f32", "shm")]:
        for copy in [False, True]:
            with pytest.raises(ValueError, match=r"declared as u8 \[4\].*strict=False"):
                publisher.publish(wrong, copy=copy)
    publisher.publish(tenure.Tensor((4,), "u8", "shm"))
    publisher.close()
    for free in [{"shape": (4,), "dtype": "u8", "strict": False}, {}]:
        with tenure.Publisher("q", directory=here, **free) as publisher:
            publisher.publish(tenure.Tensor((5,), "f32", "shm"))


def test_a_frame_grows_older(here):
    publisher = tenure.Publisher("cam", (4,), "u8", directory=here)
    subscriber = tenure.subscribe("cam", directory=here)
    with publisher.frame() as view:
        view[0] = 1
    frame = subscriber.next()
    first = frame.age
    assert 0 <= frame.latency <= first
    time.sleep(0.01)
    assert frame.age - first >= 0.01
    assert frame.latency <= first


def test_directories_of_others_are_refused(here):
    here.chmod(0o777)
    with pytest.raises(PermissionError, match="0777"):
        tenure.Publisher("cam", (4,), directory=here)
    with pytest.raises(PermissionError, match="0777"):
        tenure.subscribe("cam", directory=here)


def test_memory_is_limited(here):
    publisher = tenure.Publisher("cam", (1 << 16,), "u8", directory=here)
    subscriber = tenure.subscribe("cam", directory=here, memory_limit=1 << 15)
    with publisher.frame() as view:
        view[0] = 1
    with pytest.raises(MemoryError, match="memory_limit"):
        subscriber.next(5)


def test_a_dtype_without_a_shape_is_refused(here):
    for strict in [True, False]:
        with pytest.raises(ValueError, match="dtype says nothing without a shape"):
            tenure.Publisher("q", dtype="u8", strict=strict, directory=here)
    with pytest.raises(ValueError, match="not both"):
        tenure.Publisher("q", dtype="u8", like=tenure.Tensor((4,), "u8"), directory=here)


def test_a_tensor_of_a_file_is_published_as_a_copy(here):
    np.save(here / "w.npy", np.full(5000, 7, np.uint8))
    tensor = tenure.open(here / "w.npy")["w"]
    with tenure.Publisher("any", directory=here) as publisher:
        subscriber = tenure.subscribe("any", directory=here)
        for _ in range(3):
            assert publisher.publish(tensor) == 1
            frame = subscriber.next(5).tensor
            assert frame.memory == "shm" and set(frame.tobytes()) == {7}
