"""Exceptions: what they are, and that they speak of calls of Python."""

import os
import re

import numpy
import pytest

import tenure


def test_busy_and_read_only_are_different(tmp_path):
    os.chmod(tmp_path, 0o700)
    publisher = tenure.Publisher("busy", (4,), "u8", directory=tmp_path)
    subscriber = tenure.subscribe("busy", credits=1, directory=tmp_path)
    publisher.publish(tenure.Tensor((4,), "u8", memory="shm"))
    frame = subscriber.next(5)
    with pytest.raises(tenure.BusyError):
        subscriber.next()
    with pytest.raises(tenure.ReadOnlyError, match=r"map_read\(\)"):
        frame.tensor.map()
    frozen = numpy.zeros(4, dtype="u1")
    frozen.flags.writeable = False
    shared = tenure.from_dlpack(frozen)
    assert shared.readonly
    with pytest.raises(tenure.ReadOnlyError, match=r"map_read\(\)"):
        shared.map()
    with pytest.raises(tenure.ReadOnlyError):
        shared.copy_from(tenure.Tensor((4,), "u8", memory="mem"))


def test_classes_stay_what_they_were():
    assert issubclass(tenure.BusyError, BufferError)
    assert issubclass(tenure.ReadOnlyError, BufferError)
    assert not issubclass(tenure.BusyError, tenure.ReadOnlyError)
    for old in (BufferError, OSError, ValueError):
        assert issubclass(tenure.UnsupportedError, old)
    for old in (OSError, ValueError):
        assert issubclass(tenure.DamagedError, old)
        assert issubclass(tenure.NotFoundError, old)
    assert issubclass(tenure.WrongTypeError, TypeError)
    assert issubclass(tenure.WrongTypeError, ValueError)
    for old in (RuntimeError, OSError):
        assert issubclass(tenure.ForkedError, old)
    for name in tenure.__all__:
        found = getattr(tenure, name)
        if isinstance(found, type) and issubclass(found, Exception):
            assert (found.__module__, bool(found.__doc__)) == ("tenure", True)


def failures(folder):
    """Calls that the library refuses with a remedy or a class of its own."""
    heap = tenure.Tensor((4, 4), "u8", memory="mem")
    yield tenure.UnsupportedError, heap.fd
    yield ValueError, lambda: heap.plane(0)
    yield OSError, lambda: tenure.Tensor((4,), memory="pbo")
    yield OSError, lambda: tenure.Tensor((4,), memory="file")
    yield tenure.NotFoundError, lambda: tenure.subscribe("nobody", directory=folder)
    noise = folder / "noise"
    noise.write_bytes(b"noise" * 100)
    yield tenure.DamagedError, lambda: tenure.open(noise)
    with tenure.Publisher("errors", (4,), "u8", directory=folder) as publisher:
        yield FileExistsError, lambda: tenure.Publisher("errors", (4,), "u8", directory=folder)
        other = tenure.Tensor((5,), "u8", memory="shm")
        yield ValueError, lambda: publisher.publish(other, copy=True)


def test_texts_have_calls_of_python(tmp_path):
    os.chmod(tmp_path, 0o700)
    for kind, call in failures(tmp_path):
        with pytest.raises(kind) as raised:
            call()
        text = str(raised.value)
        assert not re.search(r"::|tenure_\w|TENURE_[A-Z]+_[A-Z]|Some\(|--\w", text), text
