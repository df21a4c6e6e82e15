"""Tensors to and from jax."""

import ml_dtypes
import numpy as np
import pytest

import tenure
from tenure import Tensor

TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "f16", "bf16", "f32", "bool"]


@pytest.fixture
def jax():
    # Not before it is needed: it starts threads, which processes that fork do not like.
    import jax

    return jax


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 2), (1024, 1024)], ids=str)
def test_round_trips(jax, dtype, shape):
    t = Tensor(shape, dtype, "mem")
    array = jax.numpy.from_dlpack(t)
    assert array.shape == shape
    back = tenure.from_dlpack(array)
    assert (back.shape, back.dtype) == (shape, dtype)
    if t.size:
        assert array.unsafe_buffer_pointer() == t.__array_interface__["data"][0], "no copy"
        assert back.__array_interface__["data"][0] == array.unsafe_buffer_pointer()


def test_jax_computes_with_our_memory(jax):
    t = Tensor((4,), "bf16")
    np.asarray(t).view(ml_dtypes.bfloat16)[:] = [1, 2, 3, 4]
    assert float(jax.numpy.from_dlpack(t).sum()) == 10
    result = jax.jit(lambda x: x * 2)(jax.numpy.arange(5, dtype=jax.numpy.float32))
    assert np.asarray(tenure.from_dlpack(result)).tolist() == [0, 2, 4, 6, 8]


def test_jax_takes_loaded_files_without_a_copy(jax, tmp_path):
    tenure.save(tmp_path / "model.safetensors", {"weight": Tensor((256, 256), "f32")})
    file = tenure.open(tmp_path / "model.safetensors")
    weight = file.load(memory="mem")["weight"]
    array = jax.numpy.from_dlpack(weight)
    assert array.unsafe_buffer_pointer() == weight.__array_interface__["data"][0]
    # jax reads only the old structure, which cannot say that a view of the file is read-only.
    with pytest.raises(BufferError, match="read-only"):
        jax.numpy.from_dlpack(file["weight"])
