"""Broadcasts, shared bytes, raw files, and which engine does what."""

import numpy as np
import pytest

import tenure
from tenure import ImageProcessor, Tensor


def test_broadcasts_are_those_of_numpy_and_only_read():
    row = tenure.from_dlpack(np.arange(3, dtype=np.float32))
    wide = row.broadcast_to((4, 3))
    assert np.array_equal(np.asarray(wide), np.broadcast_to(np.arange(3, dtype=np.float32), (4, 3)))
    assert wide.aliases(row) and memoryview(wide).readonly
    with pytest.raises(ValueError):
        row.broadcast_to((4, 2))
    with pytest.raises((ValueError, MemoryError)):
        row.broadcast_to((1 << 62, 3))
    assert Tensor(()).broadcast_to(5).shape == (5,)


def test_tensors_that_share_bytes():
    picture = Tensor.image(16, 8, "rgb", memory="shm")
    left, right = picture[:, :8], picture[:, 8:]
    assert left.aliases(picture) and picture.aliases(right) and not left.aliases(right)
    assert not picture.aliases(Tensor.image(16, 8, "rgb", memory="shm"))
    with pytest.raises(TypeError):
        picture.aliases(np.zeros(3))


def test_raw_files(tmp_path):
    path = tmp_path / "frames.yuv"
    path.write_bytes(b"headhead" + np.arange(6, dtype=np.uint16).tobytes() + b"end")
    file = tenure.open_raw(path, (2, 3), "u16", offset=8)
    assert (file.format, list(file)) == ("raw", ["frames"])
    assert np.array_equal(np.asarray(file["frames"]), np.arange(6, dtype=np.uint16).reshape(2, 3))
    assert tenure.open_raw(path, 5)["frames"].dtype == "f32"
    with pytest.raises(ValueError, match="not there"):
        tenure.open_raw(path, (2, 9), "u16", 8)
    with pytest.raises(ValueError):
        tenure.open_raw(path, (1 << 40, 1 << 40), "u16")
    with pytest.raises(ValueError, match="not there"):
        tenure.open_raw(path, (1,), "u8", (1 << 64) - 1)
    with pytest.raises(ValueError, match=r"open_raw\(\) takes any file"):
        tenure.open(path)
    with pytest.raises(FileNotFoundError):
        tenure.open_raw(tmp_path / "absent", (1,), "u8")


def test_who_converts_and_how():
    source, target = Tensor.image(16, 8, "nv12"), Tensor.image(8, 8, "rgb")
    processor = ImageProcessor(engines=["reference", "cpu"], threads=1)
    assert processor.engines == ["reference", "cpu"]
    assert processor.engine(source, target) == "reference"
    explained = processor.explain(source, target, fit="letterbox")
    assert [(name, can) for name, can, _ in explained] == [("reference", True), ("cpu", True)]
    assert all(what for _, _, what in explained)
    for call in [processor.engine, processor.explain]:
        with pytest.raises(ValueError):
            call(source, Tensor((3,)))
        with pytest.raises(ValueError):
            call(source, target, crop=(0, 0, 99, 1))
    assert not np.asarray(target).any()
