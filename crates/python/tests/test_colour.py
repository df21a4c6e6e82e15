"""Colour: what a picture carries, and what a conversion is told."""

import socket

import numpy as np
import pytest

import tenure
from tenure import ImageProcessor, Tensor


def nv12(luma, blue, red, **colour):
    """A picture of one colour."""
    picture = Tensor.image(16, 16, "nv12", memory="mem")
    np.asarray(picture.plane(0))[:] = luma
    np.asarray(picture.plane(1))[:] = [blue, red]
    return picture.with_colour(**colour) if colour else picture


def rgb_of(picture, **how):
    target = Tensor.image(16, 16, "rgb", memory="mem")
    ImageProcessor(threads=1).convert(picture, target, **how)
    return np.asarray(target)[8, 8].tolist()


def close(one, other):
    return np.abs(np.subtract(one, other)).max() <= 1


# What the standards say of luma 81 and chroma 90, 240: red of limited range in BT.601.
RED = (81, 90, 240)
MEANT = {
    ("bt601", "limited"): [255, 0, 0],
    ("bt709", "limited"): [255, 24, 0],
    ("bt601", "full"): [238, 14, 14],
}


@pytest.mark.parametrize("colour, rgb", MEANT.items())
def test_pictures_are_read_in_their_colour(colour, rgb):
    matrix, range_ = colour
    carried = nv12(*RED, matrix=matrix, range=range_)
    assert carried.colour == colour
    assert close(rgb_of(carried), rgb)
    assert close(rgb_of(nv12(*RED), colour=colour), rgb)
    # What a conversion is told goes before what the picture carries.
    other = nv12(*RED, matrix="bt2020", range="full")
    assert close(rgb_of(other, colour=colour), rgb)
    assert not close(rgb_of(other), rgb)


def test_pictures_without_a_colour_are_read_as_jpeg_has_them():
    assert nv12(*RED).colour is None
    assert close(rgb_of(nv12(*RED)), MEANT["bt601", "full"])


def test_pictures_are_written_in_their_colour():
    source = Tensor.image(16, 16, "rgb", memory="mem")
    np.asarray(source)[:] = [255, 0, 0]
    target = Tensor.image(16, 16, "nv12", memory="mem").with_colour("bt601", "limited")
    ImageProcessor(threads=1).convert(source, target)
    assert close(np.asarray(target.plane(0))[0, 0], 81)
    assert close(np.asarray(target.plane(1))[0, 0], [90, 240])


def test_what_is_not_said_stays():
    picture = Tensor.image(8, 8, "nv12", memory="mem")
    assert picture.with_colour(matrix="bt709").colour == ("bt709", "full")
    assert picture.with_colour(range="limited").colour == ("bt601", "limited")
    hd = picture.with_colour("bt709", "limited")
    assert hd.with_colour(range="full").colour == ("bt709", "full")
    assert picture.colour is None
    assert "colour=('bt709', 'limited')" in repr(hd) and "colour" not in repr(picture)
    assert hd.plane(0).colour == hd.colour


def test_chroma_is_taken_to_lie_where_it_is_said():
    picture = Tensor.image(16, 16, "nv12", memory="mem")
    np.asarray(picture.plane(0))[:] = 128
    np.asarray(picture.plane(1))[:] = np.arange(8, dtype=np.uint8).reshape(1, 8, 1) * 30
    rows = {}
    for siting in [None, "centre", "left"]:
        target = Tensor.image(16, 16, "rgb", memory="mem")
        ImageProcessor(threads=1).convert(picture, target, siting=siting)
        rows[siting] = np.asarray(target)[8].tolist()
    assert rows[None] == rows["centre"] != rows["left"]


@pytest.mark.parametrize(
    "wrong, kind, words",
    [
        (lambda t: t.with_colour("bt999"), ValueError, "bt999.*bt601, bt709, bt2020"),
        (lambda t: t.with_colour(range="huge"), ValueError, "huge.*limited, full"),
        (lambda t: t.with_colour(), ValueError, "one of them"),
        (lambda t: rgb_of(t, colour="bt709"), TypeError, "a matrix and a range"),
        (lambda t: rgb_of(t, colour=("bt709", "big")), ValueError, "big"),
        (lambda t: rgb_of(t, siting="top"), ValueError, "top.*centre, left"),
        (lambda t: rgb_of(t, color=None), TypeError, "color"),
        (lambda t: rgb_of(t, rotation="left"), TypeError, "argument 'rotation'"),
    ],
)
def test_refusals(wrong, kind, words):
    with pytest.raises(kind, match=words):
        wrong(nv12(*RED))


def test_colour_goes_to_other_processes(tmp_path):
    tmp_path.chmod(0o700)
    hd = Tensor.image(16, 16, "nv12", memory="shm").with_colour("bt709", "limited")
    with tenure.Publisher("hd", like=hd, directory=tmp_path) as publisher:
        subscriber = tenure.subscribe("hd", directory=tmp_path)
        with publisher.frame() as view:
            view[0, 0] = 7
        frame = subscriber.next(5).tensor
        assert (frame.format, frame.colour) == ("nv12", ("bt709", "limited"))
        publisher.publish(hd)
        assert subscriber.next(5).tensor.colour == ("bt709", "limited")
        with pytest.raises(ValueError, match="declared"):
            publisher.publish(hd.with_colour("bt601"))
    here, there = socket.socketpair()
    with here, there:
        tenure.send(here, hd)
        assert tenure.receive(there).colour == ("bt709", "limited")


def test_what_would_help_is_a_call_of_python():
    source = Tensor.image(16, 16, "rgb", memory="mem")
    with pytest.raises(ValueError, match=r"take with_colour\(\) of the destination"):
        target = Tensor.image(16, 16, "nv12").with_colour("bt709", "limited")
        ImageProcessor(threads=1).convert(source, target, colour=("bt601", "full"))
