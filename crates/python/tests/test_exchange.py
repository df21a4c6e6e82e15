"""Tensors to and from apache-tvm-ffi, through the C exchange interface of DLPack."""

import gc

import numpy as np
import pytest
import tvm_ffi

import tenure
from tenure import Tensor

TYPES = ["u8", "i8", "u16", "i16", "u32", "i32", "f16", "bf16", "f32", "bool"]


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [*TYPES, "i64", "f64", "f8e4m3", "f8e5m2"])
def test_tvm_ffi(dtype):
    t = Tensor((2, 3), dtype, "mem")
    taken = tvm_ffi.from_dlpack(t)
    assert tuple(taken.shape) == (2, 3)
    back = tenure.from_dlpack(taken)
    assert (back.dtype, back.shape) == (dtype, (2, 3))
    assert back.__array_interface__["data"][0] == t.__array_interface__["data"][0]


def test_our_table():
    assert "dlpack_exchange_api" in repr(Tensor.__dlpack_c_exchange_api__)
    # A tensor as an argument of a function goes through our table, and comes back through it.
    echo = tvm_ffi.get_global_func("testing.echo")
    t = Tensor((4, 4), "i32", "mem")
    np.asarray(t)[:] = np.arange(16).reshape(4, 4)
    back = echo(t)
    assert type(back) is Tensor
    assert address(np.asarray(back)) == address(np.asarray(t))
    part = t[1:, ::2]
    assert np.array_equal(np.asarray(echo(part)), np.asarray(part))
    assert echo(Tensor((0, 3))).shape == (0, 3) and echo(Tensor(())).shape == ()


def test_tables_of_others():
    class Mute(tvm_ffi.core.DLTensorTestWrapper):
        def __dlpack__(self, **_):
            raise AssertionError("the table is there")

        __dlpack_device__ = __dlpack__

    array = np.arange(6)
    t = tenure.from_dlpack(Mute(tvm_ffi.from_dlpack(array)))
    assert address(np.asarray(t)) == address(array)
    with pytest.raises(AssertionError, match="the table"):
        tenure.from_dlpack(Mute(tvm_ffi.from_dlpack(array)), copy=True)


def test_lifetimes_through_the_table():
    t = Tensor((1 << 20,), "u8", "mem")
    at = address(np.asarray(t))
    taken = tvm_ffi.from_dlpack(t)
    del t
    gc.collect()
    back = np.asarray(tenure.from_dlpack(taken))
    del taken
    back[:] = 5
    assert address(back) == at and back.sum() == 5 << 20


def test_read_only_through_the_table():
    array = np.arange(4)
    array.flags.writeable = False
    t = tenure.from_dlpack(array)
    try:
        taken = tvm_ffi.from_dlpack(t)
    except BufferError:
        return
    assert tenure.from_dlpack(taken).shape == (4,)
