"""Libraries that write where they may only read, and arrays that outlive publishing.

Read-only flags bind nobody: torch ignores them, and so does ctypes here. What is written must stay
with whoever wrote it, and kill nobody.
"""

import ctypes
import gc
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tenure

SIZE = 300_000


def interface(tensor):
    return tensor, tensor.__array_interface__["data"][0]


def buffer(tensor):
    array = np.frombuffer(memoryview(tensor), dtype=np.uint8)
    return array, array.ctypes.data


def mapped(tensor):
    with tensor.map_read() as view:
        array = np.asarray(view)
    return array, array.ctypes.data


def dlpack(tensor):
    array = np.from_dlpack(tensor)
    return array, array.ctypes.data


def forced(tensor):
    """An array of numpy that is told that it may write: bit 10 of its flags."""
    array = np.asarray(tensor)
    # Behind the object's head: data, dimensions, shape, strides, base, descr.
    at = id(array) + object.__basicsize__ + 6 * ctypes.sizeof(ctypes.c_void_p)
    flags = ctypes.c_int.from_address(at)
    assert bool(flags.value & 0x400) == array.flags.writeable
    flags.value |= 0x400
    assert array.flags.writeable
    array += 1
    return array, array.ctypes.data


EXPORTS = [interface, buffer, mapped, dlpack, forced]


@pytest.fixture
def here(tmp_path):
    return tmp_path


@pytest.mark.parametrize("export", EXPORTS)
def test_a_write_to_a_frame_stays_with_the_export(here, export):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        one = tenure.subscribe("cam", directory=here)
        other = tenure.subscribe("cam", directory=here)
        for index in range(12):
            with publisher.frame() as view:
                view[:] = bytes([index]) * SIZE
            frame, beside = one.next(5).tensor, other.next(5).tensor
            keep, address = export(frame)
            offset = index * 1000
            ctypes.memset(address + offset, 99, SIZE - offset)
            assert ctypes.string_at(address + SIZE - 1, 1) == b"c"
            # Neither the other consumer nor a copy made in Rust sees it, nor a later frame.
            assert set(bytes(memoryview(beside))) == {index}
            assert set(bytes(memoryview(frame.to("mem")))) == {index}
            del keep
            gc.collect()
            if export in (mapped, dlpack):
                assert set(bytes(memoryview(frame))) == {index}


def test_an_ignored_flag_kills_nobody(here):
    """As a process of its own, so that a signal is seen as one."""
    script = """
        import ctypes, sys
        import numpy as np, tenure
        publisher = tenure.Publisher("cam", (4096,), "u8", directory=sys.argv[1])
        subscriber = tenure.subscribe("cam", directory=sys.argv[1])
        with publisher.frame() as view:
            view[0] = 7
        frame = subscriber.next(5).tensor
        array = np.from_dlpack(frame)
        ctypes.memset(array.ctypes.data, 1, 4096)
        print(array[0], frame.to("mem").__array_interface__["shape"], end="")
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(here)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"1 (4096,)"), done.stderr.decode()


def test_an_array_kept_past_publishing_is_a_copy(here):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        kept = []
        for index in range(20):
            with publisher.frame() as view:
                array = np.asarray(view)
                array[:] = index
            # It neither raises nor reaches the frame.
            array[::2] = 200
            frame = subscriber.next(5).tensor
            array[1] = 201
            assert set(bytes(memoryview(frame))) == {index}
            kept = (kept + [(array, index)])[-6:]
            # The slots were used again meanwhile.
            for array, number in kept:
                assert (array[0], array[1], array[3], array[-1]) == (200, 201, number, number)


def careless(view):
    """What torch.frombuffer has: the view, and an address, but not the buffer."""
    return view, np.frombuffer(view, dtype=np.uint8).ctypes.data


def test_an_address_without_a_buffer_is_one_of_a_copy(here):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        for index in range(8):
            with publisher.frame() as view:
                keep, address = careless(view)
                ctypes.memset(address, index, SIZE)
            ctypes.memset(address, 50, SIZE)
            frame = subscriber.next(5).tensor
            assert set(bytes(memoryview(frame.to("mem")))) == {index}
            # The same with what may only be read.
            frame, address = careless(frame)
            others = [np.from_dlpack(frame[n:]) for n in range(5)]
            del others
            gc.collect()
            ctypes.memset(address, 60, SIZE)
            assert set(bytes(memoryview(frame.to("mem")))) == {index}
            del keep


def test_a_tensor_kept_past_publishing_is_a_copy(here):
    with tenure.Publisher("cam", (4,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        slot = publisher.frame()
        with slot as view:
            tensor = slot.tensor
            view[:] = b"abcd"
        np.asarray(tensor)[:] = 0
        assert bytes(memoryview(subscriber.next(5).tensor)) == b"abcd"
        assert publisher.publish(tensor) == 1
        np.asarray(tensor)[:] = 1
        assert bytes(memoryview(subscriber.next(5).tensor)) == bytes(4)


def test_a_thread_that_never_stops_writing_changes_no_frame(here):
    with tenure.Publisher("cam", (SIZE,), "u8", directory=here) as publisher:
        subscriber = tenure.subscribe("cam", directory=here)
        for _ in range(10):
            stop, going = threading.Event(), threading.Event()
            with publisher.frame() as view:
                array = np.asarray(view)

                def write(array=array, stop=stop, going=going):
                    number = 0
                    while not stop.is_set():
                        number += 1
                        array[:] = number % 251
                        going.set()

                thread = threading.Thread(target=write)
                thread.start()
                assert going.wait(60)
            frame = subscriber.next(5).tensor
            before = bytes(memoryview(frame))
            for _ in range(3):
                going.clear()
                assert going.wait(60)
                assert bytes(memoryview(frame)) == before
            stop.set()
            thread.join()


def test_an_array_of_a_published_tensor_does_not_reach_the_frame(here):
    publisher = tenure.Publisher("any", directory=here)
    subscriber = tenure.subscribe("any", directory=here)
    tensor = tenure.Tensor((SIZE,), "u8", "shm")
    array = np.asarray(tensor)
    for index in range(5):
        array[:] = index
        assert publisher.publish(tensor) == 1
        array[:] = 99
        assert set(bytes(memoryview(subscriber.next(5).tensor))) == {index}
    assert array.flags.writeable and np.shares_memory(array, np.asarray(tensor))
    del array
    gc.collect()

    # What consumers have now can only be read here, and what is written all the same stays here.
    assert publisher.publish(tensor) == 1
    frame = subscriber.next(5).tensor
    for export in [buffer, dlpack, forced]:
        keep, address = export(tensor)
        ctypes.memset(address, 5, SIZE)
        assert set(bytes(memoryview(frame))) == {99}
        del keep
        gc.collect()
    assert not np.asarray(tensor).flags.writeable
    with pytest.raises(BufferError, match="published"), tensor.map():
        pass
    del frame
    gc.collect()
    while not np.asarray(tensor).flags.writeable:
        pass
    np.asarray(tensor)[:] = 1
