"""jax's own tests of DLPack, with every array going through a tensor of ours.

jax has them in its repository only, not in its package: scripts/test-jax-suite gets them.
"""

import importlib.util
import os
import sys

import pytest

SUITE = os.environ.get("TENURE_JAX_SUITE")
if not SUITE:
    pytest.skip("scripts/test-jax-suite runs this", allow_module_level=True)

# Only if it is needed: it starts threads, which processes that fork do not like.
import jax
import jax.dlpack
import jax.numpy

import tenure

from_dlpack = jax.dlpack.from_dlpack

# What jax can and tensors cannot, on purpose.
REFUSED = {
    "is not a multiple of": "elements off their natural alignment are refused",
}


def load(path):
    """The suite as a module, which reads options that are not for it."""
    sys.argv = sys.argv[:1]
    specification = importlib.util.spec_from_file_location("suite_of_jax", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def through_tenure(x, /, *, device=None, copy=None):
    try:
        tensor = tenure.from_dlpack(x)
    except BufferError as error:
        for words, reason in REFUSED.items():
            if words in str(error):
                pytest.xfail(reason)
        raise
    if 0 in x.shape and copy is False and x.__array_interface__["data"][0] % 4:
        pytest.xfail("without elements there is no address, which jax wants refused here")
    return from_dlpack(tensor, device=device, copy=copy)


class TestThroughTenure(load(SUITE).DLPackTest):
    @pytest.fixture(autouse=True)
    def replace(self, monkeypatch):
        monkeypatch.setattr(jax.dlpack, "from_dlpack", through_tenure)
        monkeypatch.setattr(jax.numpy, "from_dlpack", through_tenure)
