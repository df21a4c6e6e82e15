"""Schedules of model files."""

import pathlib

import pytest

import tenure

DATA = pathlib.Path(__file__).parents[2] / "models" / "tests" / "data"


def test_a_model_is_planned():
    schedule = tenure.read_model(DATA / "small_cnn.onnx", {"batch": 1})
    assert {"buffers", "steps"} <= set(schedule) and schedule["steps"]
    assert any(buffer.get("input") for buffer in schedule["buffers"])
    plan = tenure.plan(schedule)
    assert plan.bytes >= plan.lower_bound > 0 and plan.optimal
    placed = {name for name, place in plan.places.items() if place is not None}
    memory = plan.allocate("mem")
    assert set(memory) == placed
    sizes = {buffer["name"]: buffer["bytes"] for buffer in schedule["buffers"]}
    assert all(tensor.nbytes == sizes[name] for name, tensor in memory.items())


def test_dimensions_that_a_model_leaves_open_are_given():
    path = DATA / "small_cnn.onnx"
    with pytest.raises(ValueError, match="batch.*a value in dims"):
        tenure.read_model(path)
    with pytest.raises(ValueError, match="depth"):
        tenure.read_model(path, {"batch": 1, "depth": 2})
    one, four = [tenure.plan(tenure.read_model(path, {"batch": batch})) for batch in [1, 4]]
    assert four.bytes > one.bytes


def test_inputs_are_placed_where_that_is_asked_for():
    path = str(DATA / "chain.tflite")
    own, arena = tenure.read_model(path), tenure.read_model(path, arena=True)
    assert len(arena["steps"]) == len(own["steps"]) + 2
    assert tenure.plan(arena).bytes > 0


@pytest.mark.parametrize(
    "path, dims, kind",
    [
        (DATA / "absent.onnx", {}, FileNotFoundError),
        (DATA, {}, OSError),
        (DATA / "cycle.onnx", {}, ValueError),
        (__file__, {}, ValueError),
        (DATA / "small_cnn.onnx", {"n": -1}, OverflowError),
        (DATA / "small_cnn.onnx", {1: 1}, TypeError),
        (DATA / "small_cnn.onnx", 7, TypeError),
        (7, {}, TypeError),
    ],
)
def test_refusals(path, dims, kind):
    with pytest.raises(kind):
        tenure.read_model(path, dims)


def test_files_that_are_cut_off_are_refused(tmp_path):
    whole = (DATA / "small_cnn.onnx").read_bytes()
    for end in range(0, len(whole), max(1, len(whole) // 40)):
        (tmp_path / "cut.onnx").write_bytes(whole[:end])
        try:
            schedule = tenure.read_model(tmp_path / "cut.onnx", {"batch": 1})
        except (ValueError, OSError):
            continue
        assert schedule["buffers"] is not None
