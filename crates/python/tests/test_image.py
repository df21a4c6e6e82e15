"""Pictures, from Python."""

import multiprocessing
import warnings

import numpy as np
import pytest

import tenure
from tenure import ImageProcessor, Tensor


def test_convert():
    source = Tensor.image(64, 48, "rgb")
    np.asarray(source)[:] = [255, 0, 51]
    target = Tensor.image(32, 32, "planar-rgb", "f32")
    placement = ImageProcessor().convert(source, target, fit="letterbox", scale=1 / 255)
    assert placement.content == (0, 4, 32, 24)
    assert placement.to_source(0, 4) == (0, 0) and placement.to_destination(64, 48) == (32, 28)
    array = np.asarray(target)
    assert np.allclose(array[:, 0, 0], 114 / 255, atol=0.002)
    assert np.allclose(array[:, 16, 16], [1, 0, 0.2], atol=0.002)


def test_turns_and_parts():
    rows = np.arange(4 * 6, dtype=np.uint8).reshape(4, 6, 1) * 10
    source = tenure.from_dlpack(np.repeat(rows, 3, 2)).with_format("rgb")
    turned = Tensor.image(4, 6, "rgb")
    processor = ImageProcessor(engines=["reference"])
    processor.convert(source, turned, rotation=90, filter="nearest")
    assert np.array_equal(np.asarray(turned), np.rot90(np.asarray(source), -1))
    part = Tensor.image(6, 4, "rgb")
    processor.convert(source, part, crop=(2, 1, 2, 2), into=(0, 0, 2, 2), flip_horizontal=True)
    assert np.array_equal(np.asarray(part)[:2, :2], np.asarray(source)[1:3, 2:4][:, ::-1])
    assert not np.asarray(part)[2:].any()


@pytest.mark.parametrize(
    "words",
    [
        {"fit": "squeeze"},
        {"rotation": 45},
        {"filter": "blur"},
        {"crop": (0, 0, 99, 1)},
        {"std": (0, 1, 1)},
    ],
)
def test_refusals(words):
    source, target = Tensor.image(8, 8, "rgb"), Tensor.image(8, 8, "rgb", "f32")
    with pytest.raises(ValueError):
        ImageProcessor().convert(source, target, **words)
    with pytest.raises(ValueError, match="no image"):
        ImageProcessor().convert(Tensor((8, 8, 3), "u8"), target)
    with pytest.raises(ValueError, match="tpu"):
        ImageProcessor(["tpu"])


def test_picture_files(tmp_path):
    picture = Tensor.image(20, 10, "rgb")
    np.asarray(picture)[:] = np.arange(600).reshape(10, 20, 3) % 256
    size = tenure.save_image(tmp_path / "x.png", picture)
    assert size == (tmp_path / "x.png").stat().st_size
    back = tenure.read_image(tmp_path / "x.png", "mem")
    assert back.memory == "mem" and np.array_equal(np.asarray(back), np.asarray(picture))
    with pytest.raises(FileNotFoundError):
        tenure.read_image(tmp_path / "absent.png")
    with pytest.raises(ValueError, match="png"):
        tenure.save_image(tmp_path / "x.bmp", picture)


def convert_all(processors):
    source, target = Tensor.image(640, 640, "rgb"), Tensor.image(320, 320, "rgb")
    for processor in processors:
        processor.convert(source, target)
    ImageProcessor(threads=3).convert(source, target)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processors_survive_a_fork():
    # Threads stay behind in the parent; a child that needs them would hang or panic.
    processors = [ImageProcessor(engines=["cpu"], threads=3), ImageProcessor(engines=["cpu"])]
    convert_all(processors)

    def work():
        convert_all(processors)
        processors.clear()

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    hangs = child.exitcode is None
    child.kill()
    assert not hangs and child.exitcode == 0
    convert_all(processors)


def test_a_video_read_as_one_picture_is_told(tmp_path):
    tenure.save_image(tmp_path / "one.jpg", Tensor.image(16, 16, "rgb", memory="mem"))
    one = (tmp_path / "one.jpg").read_bytes()
    (tmp_path / "many.mjpeg").write_bytes(one * 90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tenure.read_image(tmp_path / "one.jpg")
        with pytest.raises(RuntimeWarning, match="more pictures after the first"):
            tenure.read_image(tmp_path / "many.mjpeg")
