"""numpy's own tests of DLPack, with every array going through a tensor of ours."""

import numpy as np
import pytest
from numpy._core.tests.test_dlpack import TestDLPack as OfNumpy

import tenure

from_dlpack = np.from_dlpack

# What numpy can and tensors cannot, on purpose.
REFUSED = {
    "test_writeable": ("", "an old producer cannot say that it is read-only, so it is not"),
}


def through_tenure(x, /, *, device=None, copy=None):
    return from_dlpack(tenure.from_dlpack(x), device=device, copy=copy)


class TestThroughTenure(OfNumpy):
    @pytest.fixture(autouse=True)
    def replace(self, request, monkeypatch):
        name = request.node.originalname
        if name in REFUSED and REFUSED[name][0] in request.node.name:
            request.applymarker(pytest.mark.xfail(reason=REFUSED[name][1], strict=True))
        monkeypatch.setattr(np, "from_dlpack", through_tenure)
