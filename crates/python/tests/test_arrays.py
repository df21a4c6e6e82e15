"""What other libraries ask of an array: byte order, shape, Pillow, frames, devices."""

import binascii
import io
import sys
import types
import warnings

import numpy as np
import pytest

import tenure
from tenure import Pool, Publisher, Tensor

OTHER, NATIVE = (">", "<") if sys.byteorder == "little" else ("<", ">")


@pytest.fixture
def frame(tmp_path):
    with Publisher("arrays", (2, 3), "f32", directory=tmp_path) as publisher:
        with tenure.subscribe("arrays", directory=tmp_path) as subscriber:
            tensor = Tensor((2, 3), "f32", "shm")
            np.asarray(tensor)[:] = [[0, 1, 2], [3, 4, 5]]
            publisher.publish(tensor, copy=True)
            yield subscriber.next(60)


def test_types_of_the_other_byte_order_are_refused():
    theirs = [np.dtype(f"{OTHER}{word}") for word in ["f4", "i2", "u8", "f8"]]
    theirs += [dtype.str for dtype in theirs] + (["!f4"] if OTHER == ">" else [])
    for dtype in theirs:
        for make in (
            lambda dtype: Tensor((1,), dtype),
            lambda dtype: Tensor.image(4, 4, "grey", dtype),
            lambda dtype: Pool("mem").tensor((1,), dtype),
            lambda dtype: Publisher("order", (1,), dtype),
            lambda dtype: tenure.from_fd(0, (1,), dtype),
        ):
            with pytest.raises(ValueError, match=r"endian.*newbyteorder"):
                make(dtype)


def test_types_of_this_byte_order():
    for word, dtype in [("f4", "f32"), ("u2", "u16"), ("i8", "i64"), ("b1", "bool"), ("f2", "f16"), ("c8", "complex64")]:
        assert Tensor((1,), np.dtype(word)).dtype == dtype
        assert Tensor((1,), NATIVE + word).dtype == Tensor((1,), f"={word}").dtype == dtype
        assert Tensor((1,), np.dtype(NATIVE + word)).dtype == dtype
    # A byte has no order.
    assert Tensor((1,), "|u1").dtype == Tensor((1,), np.dtype(">u1")).dtype == "u8"
    for wrong in [f"{NATIVE}f3", "<", ">", "|", "=", f"{NATIVE}U4", f"{NATIVE}c32", "\0", "\ud800"]:
        with pytest.raises((ValueError, UnicodeError)):
            Tensor((1,), wrong)


def test_arrays_of_the_other_byte_order(tmp_path):
    array = np.arange(6, dtype=f"{OTHER}f4").reshape(2, 3)
    with pytest.raises(BufferError):
        tenure.from_dlpack(array)
    with pytest.raises(BufferError):
        Tensor((2, 3)).copy_from(array)
    # Files say which order they have, and are read right.
    np.save(tmp_path / "other.npy", array)
    np.savez(tmp_path / "both.npz", a=array, b=array.astype(f"{NATIVE}f4"))
    np.savez_compressed(tmp_path / "packed.npz", a=array)
    t = tenure.open(tmp_path / "other.npy")["other"]
    assert t.dtype == "f32" and np.array_equal(np.asarray(t), array)
    for name, key in [("both.npz", "a"), ("both.npz", "b"), ("packed.npz", "a")]:
        file = tenure.open(tmp_path / name)
        for t in [file[key], file.load()[key]]:
            assert t.dtype == "f32" and np.array_equal(np.asarray(t), array)


@pytest.mark.parametrize("dtype", ["u8", "f32", "i32"])
def test_strides_are_none_where_elements_follow_each_other(dtype):
    t = Tensor((4, 6), dtype)
    assert t.__array_interface__["strides"] is None
    size = t.nbytes // t.size
    assert t[:, ::2].__array_interface__["strides"] == (6 * size, 2 * size)
    assert t[::-1].__array_interface__["strides"] == (-6 * size, size)
    assert t[1:3].__array_interface__["strides"] is None
    assert np.array_equal(np.asarray(t[:, ::2]), np.asarray(t)[:, ::2])


@pytest.mark.parametrize("width", [8, 5, 640])
def test_pillow(width):
    image = pytest.importorskip("PIL.Image")
    for format, mode in [("rgb", "RGB"), ("rgba", "RGBA"), ("grey", "L")]:
        t = Tensor.image(width, 6, format)
        array = np.asarray(t)
        array[:] = np.arange(array.size, dtype=np.uint8).reshape(array.shape)
        if format == "grey":
            # Pillow knows no third dimension of 1, of nobody's arrays.
            t = t[:, :, 0]
        made = image.fromarray(t)
        assert (made.mode, made.size) == (mode, (width, 6))
        assert np.array_equal(np.asarray(made), array.reshape(np.asarray(made).shape))
        part = t[1:5, ::2]
        assert np.array_equal(np.asarray(image.fromarray(part)), np.asarray(part).squeeze())
    reals = Tensor((3, 4), "f32")
    np.asarray(reals)[:] = np.arange(12).reshape(3, 4)
    assert np.array_equal(np.asarray(image.fromarray(reals)), np.asarray(reals))
    back = tenure.from_dlpack(np.array(image.fromarray(reals)))
    assert back.shape == (3, 4)


@pytest.mark.parametrize("dtype", ["u8", "bool", "i16", "bf16", "f64", "f8e4m3"])
def test_tobytes(dtype):
    t = Tensor((3, 4), dtype, "mem")
    with t.map() as view:
        memoryview(view).cast("B")[:] = bytes(range(t.nbytes))
    assert t.tobytes() == bytes(range(t.nbytes))
    assert Tensor((0, 3), dtype).tobytes() == b""
    if dtype != "bf16" and dtype != "f8e4m3":
        assert t[::-1, ::2].tobytes() == np.asarray(t)[::-1, ::2].tobytes()
    assert Tensor((3,), "u4").tobytes() == bytes(2)
    assert io.BytesIO(Tensor((3,), "u8").tobytes()).read() == bytes(3)


def test_frames_are_arrays(frame):
    expected = [[0, 1, 2], [3, 4, 5]]
    for take in (np.asarray, np.from_dlpack, memoryview, lambda frame: tenure.from_dlpack(frame)):
        array = np.asarray(take(frame))
        assert (array.dtype, array.shape) == (np.float32, (2, 3))
        assert array.tolist() == expected and not array.flags.writeable
    assert np.array_equal(np.mean(frame, axis=0), [1.5, 2.5, 3.5])
    assert frame.__dlpack_device__() == (1, 0)
    assert '"dltensor_versioned"' in repr(frame.__dlpack__(max_version=(1, 0)))
    with pytest.raises(TypeError, match="flavour"):
        frame.__dlpack__(flavour=1)
    with pytest.raises(TypeError, match="by name"):
        frame.__dlpack__(1)
    assert frame.__array_interface__["data"][1], "read-only"
    assert bytes(frame) == np.asarray(expected, np.float32).tobytes()
    target = Tensor((2, 3))
    target.copy_from(frame)
    assert np.asarray(target).tolist() == expected


def test_an_array_keeps_its_frame(frame, tmp_path):
    array = np.asarray(frame)
    at = array.__array_interface__["data"][0]
    del frame
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array.__array_interface__["data"][0] == at


@pytest.mark.parametrize("copy", [None, True, False])
def test_devices_that_are_not_there(copy):
    t = Tensor((4,))
    there = [(device, 0) for device in range(2, 20)] + [(2, 7), (7, 99), (0, 0), (-1, 0), (99, 99)]
    there += [(1, 1), (1, -1), (1, 2**31), (2**31, 0), (2**63, 0), (2, 10**30), (-(2**63), 0)]
    for device in there:
        with pytest.raises(BufferError):
            t.__dlpack__(dl_device=device, copy=copy)
        with pytest.raises(BufferError):
            t.__dlpack__(dl_device=device, copy=copy, max_version=(1, 0))
    assert "dltensor" in repr(t.__dlpack__(dl_device=(1, 0), copy=copy))
    for wrong in [(1,), (1, 0, 0), "cpu", 1, (1.0, 0), ("cpu", 0), [1, 0], object()]:
        with pytest.raises(TypeError, match="dl_device is"):
            t.__dlpack__(dl_device=wrong, copy=copy)


def test_versions_to_the_letter():
    t = Tensor((4,))
    for version in [None, (0, 0), (0, 8), (0, 2**40), (-1, 0)]:
        assert '"dltensor"' in repr(t.__dlpack__(max_version=version))
    for version in [(1, 0), (1, 2**40), (2, 0), (2**40, 0), (10**30, 10**30)]:
        assert '"dltensor_versioned"' in repr(t.__dlpack__(max_version=version))
    # What is read only cannot be said in the old structure, except of a copy.
    array = np.arange(3)
    array.flags.writeable = False
    t = tenure.from_dlpack(array)
    for words in [{}, {"copy": False}, {"dl_device": (1, 0)}]:
        with pytest.raises(BufferError):
            t.__dlpack__(**words)
    assert '"dltensor"' in repr(t.__dlpack__(copy=True))


def plain_bytes(one):
    """As files, sockets and hashes ask: no shape, no format."""
    assert binascii.crc32(one) == binascii.crc32(bytes(one))


def test_code_that_names_asarray_is_warned_of_torch(monkeypatch, frame):
    """torch.asarray asks for plain bytes and flattens them; test_torch.py has the real one."""
    pretender = types.SimpleNamespace(asarray=binascii.crc32)
    t = Tensor((2, 3), "i32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pretender.asarray(t)
        monkeypatch.setitem(sys.modules, "torch", pretender)
        plain_bytes(t)
        # A shape is asked for, or the answer is what it would be.
        assert np.asarray(t).shape == t.shape
        pretender.asarray(Tensor((6,), "f32"))
        with pytest.raises(RuntimeWarning, match=r"torch\.from_dlpack"):
            pretender.asarray(t)
    for one in [t, frame, frame.tensor]:
        with pytest.warns(RuntimeWarning, match=r"torch\.from_dlpack"):
            assert pretender.asarray(one) == binascii.crc32(bytes(one))


class Passed:
    """Passes the words of a tensor on, and nothing else."""

    def __init__(self, tensor):
        self.__array_interface__ = tensor.__array_interface__


def test_the_words_of_a_tensor_keep_its_memory():
    array = np.asarray(Passed(Tensor((1 << 20,), "u8", "shm")))
    array[:] = 7
    assert int(array.sum()) == 7 << 20


def test_arrays_of_passed_words_stay_behind_when_published(tmp_path):
    with Publisher("passed", (4,), "u8", directory=tmp_path) as publisher:
        with tenure.subscribe("passed", directory=tmp_path) as subscriber:
            slot = publisher.frame()
            with slot:
                array = np.asarray(Passed(slot.tensor))
                array[:] = 1
            frame = subscriber.next(60)
            array[:] = 9
            assert frame.tensor.tobytes() == bytes([1, 1, 1, 1])
