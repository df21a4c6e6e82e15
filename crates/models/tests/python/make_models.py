"""Makes the small models in tests/data; with --check says whether they are current.

Needs the packages of requirements.txt: scripts/python crates/models/tests/python/make_models.py
"""
import os, sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from flat import tflite

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
# File names and what is in them.
MADE = {}
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def tensor(name, shape, dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def const(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def save(name, nodes, inputs, outputs, initializers=(), value_info=(), opset=17):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers), value_info=list(value_info))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    MADE[name + ".onnx"] = model.SerializeToString(deterministic=True)


def onnx_models():
    node = helper.make_node
    # Convolution, in-place activations, a view, and a shape computed in the graph.
    nodes = [
        node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"], name="relu"),
        node("Shape", ["x"], ["s"], name="shape"),
        node("Gather", ["s", "zero"], ["n"], name="batch"),
        node("Unsqueeze", ["n", "axis"], ["n1"], name="batch1"),
        node("Concat", ["n1", "rest"], ["target"], name="target", axis=0),
        node("Reshape", ["r", "target"], ["flat"], name="view"),
        node("Gemm", ["flat", "m"], ["g"], name="gemm"),
        node("Softmax", ["g"], ["y"], name="softmax"),
    ]
    weights = [const("w", np.ones((4, 3, 3, 3)), np.float32), const("zero", 0), const("axis", [0]),
               const("rest", [-1]), const("m", np.ones((64, 10)), np.float32)]
    save("small_cnn", nodes, [tensor("x", ["batch", 3, 8, 8])], [tensor("y", None)], weights)
    # The same, with the nodes in another order.
    save("unsorted", list(reversed(nodes)), [tensor("x", ["batch", 3, 8, 8])], [tensor("y", None)], weights)
    # Branches with tensors of their own, and a loop that collects.
    then_graph = helper.make_graph([node("Mul", ["x", "x"], ["t1"]), node("Exp", ["t1"], ["t2"])],
                                   "then", [], [tensor("t2", None)])
    else_graph = helper.make_graph([node("Neg", ["x"], ["e1"])], "else", [], [tensor("e1", None)])
    body = helper.make_graph(
        [node("Add", ["v", "x"], ["v_out"]), node("Identity", ["go"], ["go_out"]), node("Abs", ["v_out"], ["seen"])],
        "body", [tensor("i", [], I64), tensor("go", [], TensorProto.BOOL), tensor("v", [4, 4])],
        [tensor("go_out", [], TensorProto.BOOL), tensor("v_out", [4, 4]), tensor("seen", [4, 4])])
    save("control", [
        node("If", ["flag"], ["picked"], name="if", then_branch=then_graph, else_branch=else_graph),
        node("Loop", ["rounds", "", "picked"], ["last", "all"], name="loop", body=body),
    ], [tensor("x", [4, 4]), tensor("flag", [], TensorProto.BOOL)],
        [tensor("last", None), tensor("all", None)], [const("rounds", 5)])
    save("cycle", [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second")],
         [tensor("x", [4])], [tensor("b", [4])])
    save("unknown", [node("Mystery", ["x"], ["y"], name="riddle", domain="com.example")],
         [tensor("x", [4])], [tensor("y", None)])
    save("declared", [node("Mystery", ["x"], ["y"], name="riddle", domain="com.example")],
         [tensor("x", [4])], [tensor("y", [2, 2])])
    save("huge", [node("Expand", ["x", "s"], ["y"], name="expand")], [tensor("x", [1])], [tensor("y", None)],
         [const("s", [1 << 40, 1 << 40])])


def tflite_models():
    # ADD 0, RELU 19, RESHAPE 22, MUL 18; a diamond whose greedy plan is not minimal, with a view.
    f32 = 0
    add = [(0, "i8", 0)]
    shape = np.array([4, 8], dtype=np.int32).tobytes()
    weight = np.arange(32, dtype=np.float32).tobytes()
    MADE["chain.tflite"] = tflite(
        [("x", [1, 32], f32, 0), ("w", [1, 32], f32, 1), ("a", [1, 32], f32, 0), ("b", [1, 32], f32, 0),
         ("shape", [2], 2, 2), ("v", [4, 8], f32, 0), ("y", [4, 8], f32, 0)],
        [0, 19, 22, 18],
        [(0, [0, 1], [2], 11, add), (1, [2], [3], 0, []), (2, [3, 4], [5], 17, []), (3, [5, 5], [6], 21, add)],
        [0], [6], [b"", weight, shape, b"kept as it is"], [("min_runtime_version", 3)])


def main():
    onnx_models()
    tflite_models()
    stale = []
    for name, made in MADE.items():
        path = os.path.join(DATA, name)
        if "--check" not in sys.argv:
            with open(path, "wb") as file:
                file.write(made)
        elif not os.path.exists(path) or open(path, "rb").read() != made:
            stale.append(name)
    for name in stale:
        print(f"{name} is not what make_models.py makes")
    print(f"{len(MADE)} models, {len(stale)} not current")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
