"""Pictures from and to bytes, several at once, and later."""

import struct

import numpy as np
import pytest

import tenure
from tenure import ImageProcessor, Tensor


def picture(format_="rgb", seed=0):
    made = Tensor.image(20, 10, format_, memory="mem")
    array = np.asarray(made)
    array[:] = np.random.default_rng(seed).integers(0, 256, array.shape)
    return made


def test_png_is_exact():
    source = picture()
    data = tenure.encode_image(source, "png")
    assert isinstance(data, bytes) and data.startswith(b"\x89PNG")
    for given in [data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)]:
        back = tenure.decode_image(given, "mem")
        assert (back.memory, back.format) == ("mem", "rgb")
        assert np.array_equal(np.asarray(back), np.asarray(source))


def test_the_quality_of_a_jpeg():
    rows = np.linspace(0, 255, 600, dtype=np.uint8).reshape(10, 20, 3)
    source = tenure.from_dlpack(rows).with_format("rgb")
    sizes = [len(tenure.encode_image(source, "jpeg", quality=quality)) for quality in [5, 50, 100]]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2]
    back = tenure.decode_image(tenure.encode_image(source, "jpeg", quality=100))
    assert np.abs(np.asarray(back).astype(int) - rows).max() <= 6
    assert tenure.encode_image(source, "jpeg") == tenure.encode_image(source, "jpeg", quality=90)


def test_a_file_and_its_bytes_are_the_same(tmp_path):
    tenure.save_image(tmp_path / "x.png", picture())
    data = (tmp_path / "x.png").read_bytes()
    assert np.array_equal(
        np.asarray(tenure.decode_image(data)), np.asarray(tenure.read_image(tmp_path / "x.png"))
    )


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: tenure.decode_image(b""), ValueError),
        (lambda: tenure.decode_image(b"no picture at all"), ValueError),
        (lambda: tenure.decode_image(tenure.encode_image(picture(), "png")[:60]), ValueError),
        (lambda: tenure.decode_image("x.png"), TypeError),
        (lambda: tenure.decode_image(np.zeros(4)), TypeError),
        (lambda: tenure.encode_image(picture(), "bmp"), ValueError),
        (lambda: tenure.encode_image(picture(), "png", quality=9), ValueError),
        (lambda: tenure.encode_image(picture(), "jpeg", quality=0), ValueError),
        (lambda: tenure.encode_image(picture(), "jpeg", quality=1000), ValueError),
        (lambda: tenure.encode_image(Tensor((4, 4)), "png"), ValueError),
    ],
)
def test_refusals(call, kind):
    with pytest.raises(kind):
        call()


def test_a_picture_that_says_it_is_huge_is_refused():
    size = 1 << 30
    header = struct.pack(">I4sIIBBBBBI", 13, b"IHDR", size, size, 8, 2, 0, 0, 0, 0)
    head = b"\x89PNG\r\n\x1a\n" + header
    with pytest.raises((ValueError, MemoryError)):
        tenure.decode_image(head)


def test_several_at_once():
    sources = [picture(seed=seed) for seed in range(3)]
    batch = Tensor((3, 3, 10, 20), "f32", "mem").with_format("planar-rgb")
    processor = ImageProcessor(threads=1)
    placements = processor.convert_batch(sources, batch, scale=1 / 255)
    assert [placement.content for placement in placements] == [(0, 0, 20, 10)] * 3
    for source, made in zip(sources, np.asarray(batch), strict=True):
        assert np.allclose(made, np.asarray(source).transpose(2, 0, 1) / 255, atol=1e-3)
    with pytest.raises(ValueError, match="2"):
        processor.convert_batch(sources[:2], batch)
    with pytest.raises(TypeError, match="blur"):
        processor.convert_batch(sources, batch, blur=3)
    with pytest.raises(TypeError):
        processor.convert_batch([1, 2, 3], batch)


def test_later():
    source, target = picture(), Tensor.image(20, 10, "bgr", memory="mem")
    placement, fence = ImageProcessor(threads=1).convert_later(source, target, filter="nearest")
    assert fence.wait(10) and fence.done
    assert placement.content == (0, 0, 20, 10)
    assert np.array_equal(np.asarray(target), np.asarray(source)[..., ::-1])
    with pytest.raises(ValueError):
        ImageProcessor().convert_later(source, Tensor((4,)))
