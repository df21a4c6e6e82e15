"""Pictures of a batch and parts of pictures: they are pictures too."""

import numpy as np
import pytest

from tenure import ImageProcessor, Tensor


def counted(tensor):
    """A tensor whose bytes count up."""
    array = np.asarray(tensor)
    array[:] = np.arange(array.size, dtype=np.uint32).reshape(array.shape) % 251
    return tensor


FORMATS = ["rgb", "rgba", "bgr", "grey", "planar-rgb", "nv12", "i420", "yuyv", "nv24"]


def batch_of(format_, count=3):
    """A batch of pictures of 16 by 8."""
    one = Tensor.image(16, 8, format_, memory="mem")
    return counted(Tensor((count, *one.shape), "u8", "mem")).with_format(format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_one_of_a_batch_is_a_picture(format_):
    batch = batch_of(format_).with_colour("bt709", "limited")
    for index in [0, 2, -1]:
        one = batch[index]
        assert (one.format, one.colour) == (format_, ("bt709", "limited"))
        assert np.array_equal(np.asarray(one), np.asarray(batch)[index])
    assert batch.batch(1).format == format_ and batch[1, ...].format == format_
    with pytest.raises(IndexError):
        batch[3]
    with pytest.raises(ValueError):
        batch.batch(3)


@pytest.mark.parametrize("format_", FORMATS)
def test_every_index_has_the_elements_of_numpy(format_):
    batch = batch_of(format_)
    array, one = np.asarray(batch), np.asarray(batch[1])
    for key in [
        slice(None), slice(1, 3), (slice(0, 2), slice(2, 6)), (..., slice(2, 4)), (1, slice(2, 6)),
        (0, slice(2, 6), slice(2, 10)), (2, ..., slice(2, 10)), (slice(None, None, -1), 0),
        (slice(0, 0), slice(None)), (None, 1), (1, None, slice(2, 4)), (0, 2), (slice(1, 2), 0, 1),
    ]:  # fmt: skip
        assert np.array_equal(np.asarray(batch[key]), array[key]), key
    for key in [
        slice(2, 6), (slice(2, 6), slice(2, 10)), (..., slice(4, 8)), (slice(1, 6), slice(1, 9)),
        (slice(0, 1), slice(0, 1)), (slice(None), slice(2, 6)), ..., (slice(2, 6, 2), slice(0, 4)),
        (slice(3, 3), slice(0, 4)), (0, slice(2, 4)),
    ]:  # fmt: skip
        assert np.array_equal(np.asarray(batch[1][key]), one[key]), key


@pytest.mark.parametrize("format_", FORMATS)
def test_a_part_of_a_batch_is_a_batch(format_):
    batch = batch_of(format_)
    assert batch[:].format == batch[...].format == batch[1:3].format == format_
    assert batch[1:3][0].format == format_
    assert np.array_equal(np.asarray(batch[1:3][1]), np.asarray(batch)[2])
    # A part of each picture of a batch is no batch of pictures.
    assert batch[:, 2:4].format is None


@pytest.mark.parametrize("format_", ["rgb", "rgba", "bgr", "grey"])
def test_slices_of_rows_and_columns_are_regions(format_):
    picture = counted(Tensor.image(16, 8, format_, memory="mem").with_colour("bt709"))
    for key, rectangle in [
        ((slice(1, 5), slice(3, 10)), (3, 1, 7, 4)),
        (slice(2, 8), (0, 2, 16, 6)),
        ((slice(-4, None), slice(None, -6)), (0, 4, 10, 4)),
    ]:
        part, region = picture[key], picture.region(*rectangle)
        assert part.format == region.format == format_ and part.colour == picture.colour
        assert np.array_equal(np.asarray(part), np.asarray(region))
        assert np.shares_memory(np.asarray(part), np.asarray(picture))
    assert picture[1:5:2, 3:10].format is None
    assert picture[::-1].format is None


def test_planar_pictures_are_cut_along_their_last_dimensions():
    picture = counted(Tensor.image(16, 8, "planar-rgb", memory="mem"))
    part = picture[:, 1:5, 3:10]
    assert part.format == picture[..., 3:10].format == "planar-rgb"
    assert np.array_equal(np.asarray(part), np.asarray(picture)[:, 1:5, 3:10])
    assert picture[0:1, 1:5].format is None


def test_regions_do_not_cut_chroma():
    picture = counted(Tensor.image(16, 8, "nv12", memory="mem"))
    part = picture.region(2, 4, 6, 2)
    assert np.array_equal(np.asarray(part.plane(0)), np.asarray(picture.plane(0))[4:6, 2:8])
    assert np.array_equal(np.asarray(part.plane(1)), np.asarray(picture.plane(1))[2:3, 1:4])
    with pytest.raises(ValueError):
        picture.region(1, 0, 4, 4)
    with pytest.raises(ValueError):
        picture.region(0, 0, 17, 2)
    # Rows of luma and of chroma are no rows of the picture.
    assert picture[:4].format is None
    pairs = Tensor.image(16, 8, "yuyv", memory="mem")
    assert pairs[2:4, 2:8].format == "yuyv" and pairs[2:4, 1:8].format is None


def test_parts_are_converted():
    batch = Tensor((2, 3, 8, 16), "f32", "mem").with_format("planar-rgb")
    source = counted(Tensor.image(16, 8, "rgb", memory="mem"))
    processor = ImageProcessor(threads=1)
    processor.convert(source, batch[1])
    assert np.array_equal(np.asarray(batch)[1].transpose(1, 2, 0), np.asarray(source))
    target = Tensor.image(8, 4, "rgb", memory="mem")
    processor.convert(source[2:6, 4:12], target)
    assert np.array_equal(np.asarray(target), np.asarray(source)[2:6, 4:12])
    with pytest.raises(ValueError, match="batch"):
        source.batch(0)
