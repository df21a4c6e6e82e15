"""Lazy tensors, quantisation, refusals, memory that is counted, planes by descriptor."""

import fcntl
import mmap
import os

import numpy as np
import pytest

import tenure
from tenure import Tensor


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tensor((4, 5), "u8", lazy=True),
        lambda: Tensor((4, 5), "u8", "mem", lazy=True),
        lambda: Tensor.image(5, 4, "grey", memory="shm", lazy=True),
        lambda: tenure.Pool("mem").tensor((4, 5), "u8", lazy=True),
        lambda: tenure.Pool("mem").image(5, 4, "grey", lazy=True),
    ],
)
def test_lazy_tensors_have_memory_once_they_are_touched(make):
    tensor = make()
    assert not tensor.placed
    # What it says of itself touches nothing.
    assert tensor.nbytes == 20 and "Tensor(" in repr(tensor) and tensor.refusals == []
    part = tensor[1:3]
    assert not part.placed
    np.asarray(part)[:] = 7
    assert tensor.placed and np.asarray(tensor).sum() == 7 * part.size
    assert Tensor((2,)).placed


def test_a_lazy_tensor_that_is_too_large_is_refused_when_it_is_touched():
    tensor = Tensor((1 << 46,), "u8", "mem", lazy=True)
    with pytest.raises(MemoryError):
        memoryview(tensor)


def test_quantization():
    tensor = Tensor((2, 3), "i8", "mem")
    assert tensor.quantization is None
    assert tensor.with_quantization(0.5, 3).quantization == (0.5, 3, None)
    assert tensor.with_quantization(0.5).quantization == (0.5, 0, None)
    by_axis = tensor.with_quantization([0.5, 0.25, 2], [1, 2, 3], axis=1)
    assert by_axis.quantization == ([0.5, 0.25, 2.0], [1, 2, 3], 1)
    assert tensor.with_quantization([0.5, 0.25], axis=0).quantization == ([0.5, 0.25], [0, 0], 0)
    assert tensor.with_quantization([0.5, 0.25], 4, 0).quantization == ([0.5, 0.25], [4, 4], 0)
    # It goes along with views, and from one tensor to another.
    assert by_axis[:, 1].quantization == (0.25, 2, None)
    assert by_axis.permute((1, 0)).quantization == ([0.5, 0.25, 2.0], [1, 2, 3], 0)
    other = Tensor((2, 3), "i8").with_quantization(*by_axis.quantization)
    assert other.quantization == by_axis.quantization
    assert tensor.quantization is None


@pytest.mark.parametrize(
    "arguments, kind",
    [
        ((0.0,), ValueError),
        ((float("nan"),), ValueError),
        ((0.5, 1 << 40), OverflowError),
        (([0.5, 0.5],), ValueError),
        (([0.5, 0.5, 0.5], None, 0), ValueError),
        (([0.5, 0.5], [1, 2, 3], 0), ValueError),
        (([0.5, 0.5], None, 7), ValueError),
        ((0.5, 0, 0), TypeError),
        (("half",), TypeError),
        ((None,), TypeError),
    ],
)
def test_quantizations_that_are_refused(arguments, kind):
    with pytest.raises(kind):
        Tensor((2, 3), "i8").with_quantization(*arguments)
    with pytest.raises((ValueError, TypeError)):
        Tensor((2, 3), "f32").with_quantization(0.5)


def test_memories_that_did_not_serve_say_why():
    tensor = Tensor((4,))
    tried = [memory for memory, why in tensor.refusals if why]
    order = ["dma", "shm", "mem"]
    assert tried == order[: order.index(tensor.memory)]
    assert Tensor((4,), memory="mem").refusals == []


def test_memory_is_counted():
    before = tenure.usage("mem")
    tensor = Tensor((1 << 20,), "u8", "mem", name="counted")
    now = tenure.usage("mem")
    assert now.live >= before.live + (1 << 20) and now.peak >= now.live
    assert (now.count, now.made) == (before.count + 1, before.made + 1)
    [live] = [one for one in tenure.live_memory() if one.name == "counted"]
    assert (live.memory, live.bytes >= 1 << 20) == ("mem", True)
    sizes = [one.bytes for one in tenure.live_memory()]
    assert sizes == sorted(sizes, reverse=True)
    del tensor
    assert tenure.usage("mem").count == before.count
    assert "counted" not in [one.name for one in tenure.live_memory()]
    with pytest.raises(ValueError, match="ram"):
        tenure.usage("ram")


def memory_file(size):
    fd = os.memfd_create("planes", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    # Nobody can take the memory away.
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


def test_planes_by_descriptor():
    fd = memory_file(4096)
    luma, chroma = (fd, 64, 32), (fd, 1024, 32)
    picture = tenure.from_planes([luma, chroma], 16, 8, "nv12").with_colour("bt709")
    np.asarray(picture.plane(0))[:] = np.arange(128).reshape(8, 16)
    np.asarray(picture.plane(1))[:] = 9
    with mmap.mmap(fd, 4096) as shared:
        assert shared[64 + 32 : 64 + 48] == bytes(range(16, 32))
        assert shared[1024 + 3 * 32 : 1024 + 3 * 32 + 16] == bytes([9] * 16)
    # The descriptor stays the caller's, and the memory stays with the tensor.
    os.close(fd)
    assert picture.format == "nv12" and np.asarray(picture.plane(1)).sum() == 9 * 64
    target = Tensor.image(16, 8, "rgb", memory="mem")
    tenure.ImageProcessor(threads=1).convert(picture, target)


def test_planes_in_memories_of_their_own():
    files = [memory_file(4096), memory_file(4096)]
    picture = tenure.from_planes([(fd, 0, None) for fd in files], 16, 8, "nv12", "u8")
    np.asarray(picture.plane(1))[:] = 5
    with mmap.mmap(files[1], 4096) as shared:
        assert shared[:64] == bytes([5] * 64)
    for fd in files:
        os.close(fd)


def test_planes_that_are_refused():
    fd = memory_file(4096)
    for planes, size in [
        ([], (16, 8)),
        ([(fd, 0, 8)], (16, 8)),
        ([(fd, 4096, None)], (16, 8)),
        ([(fd, 0, None)] * 3, (16, 8)),
        ([(fd, 0, None)], (1 << 20, 1 << 20)),
        ([(-1, 0, None)], (16, 8)),
    ]:
        with pytest.raises((ValueError, OSError)):
            tenure.from_planes(planes, *size, "nv12")
    with pytest.raises(TypeError):
        tenure.from_planes([fd], 16, 8, "nv12")
    with pytest.raises(ValueError, match="xyz"):
        tenure.from_planes([(fd, 0, None)], 16, 8, "xyz")
    os.close(fd)


def test_pools_leave_bytes_where_that_is_asked_for():
    pool = tenure.Pool("mem")
    for made in [
        lambda **how: pool.tensor(1000, "u8", **how),
        lambda **how: pool.image(50, 20, "grey", **how),
    ]:
        np.asarray(made())[:] = 99
        assert set(np.asarray(made(without_zeroing=True)).ravel()) == {99}
        assert not np.asarray(made()).any()
    one, other = pool.tensor(10), pool.tensor(10)
    report = pool.report()
    assert report["peak"] >= report["used"] == 2 and one.size == other.size
