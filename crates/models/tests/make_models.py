"""Makes the small models in tests/data: needs the PyPI packages onnx and numpy.

TFLite files are written here by hand with the flatbuffers package: python make_models.py
"""
import os
import flatbuffers
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def tensor(name, shape, dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def const(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def save(name, nodes, inputs, outputs, initializers=(), value_info=(), opset=17):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers), value_info=list(value_info))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    with open(os.path.join(DATA, name + ".onnx"), "wb") as file:
        file.write(model.SerializeToString())


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


class Flat:
    """The few tables of TFLite that the tests need, by field number."""

    def __init__(self):
        self.builder = flatbuffers.Builder(1024)

    def table(self, fields):
        """fields: (number, kind, value); kinds: ref, u32, i8, bool."""
        builder = self.builder
        builder.StartObject(max((number for number, _, _ in fields), default=0) + 1)
        for number, kind, value in fields:
            if kind == "ref":
                builder.PrependUOffsetTRelativeSlot(number, value, 0)
            elif kind == "u32":
                builder.PrependUint32Slot(number, value, 0)
            elif kind == "i32":
                builder.PrependInt32Slot(number, value, 0)
            else:
                builder.PrependInt8Slot(number, value, 0)
        return builder.EndObject()

    def ints(self, values):
        self.builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.builder.PrependInt32(value)
        return self.builder.EndVector()

    def refs(self, values):
        self.builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            self.builder.PrependUOffsetTRelative(value)
        return self.builder.EndVector()

    def bytes(self, data):
        self.builder.StartVector(1, len(data), 16)
        self.builder.head = self.builder.head - len(data)
        self.builder.Bytes[self.builder.head:self.builder.head + len(data)] = data
        return self.builder.EndVector()


def tflite(name, tensors, codes, operators, inputs, outputs, buffers, metadata=()):
    flat = Flat()
    text = flat.builder.CreateString
    buffer_refs = []
    for data in buffers:
        ref = flat.bytes(data) if data else None
        buffer_refs.append(flat.table([(0, "ref", ref)] if data else []))
    tensor_refs = []
    for tensor_name, shape, dtype, buffer in tensors:
        shape, tensor_name = flat.ints(shape), text(tensor_name)
        tensor_refs.append(flat.table([(0, "ref", shape), (1, "i8", dtype), (2, "u32", buffer), (3, "ref", tensor_name)]))
    op_refs = []
    for code, ins, outs, options_type, options in operators:
        ins, outs = flat.ints(ins), flat.ints(outs)
        fields = [(0, "u32", code), (1, "ref", ins), (2, "ref", outs)]
        if options_type:
            fields += [(3, "i8", options_type), (4, "ref", flat.table(options))]
        op_refs.append(flat.table(fields))
    lists = [flat.refs(tensor_refs), flat.ints(inputs), flat.ints(outputs), flat.refs(op_refs)]
    subgraph = flat.table([(index, "ref", ref) for index, ref in enumerate(lists)])
    code_refs = [flat.table([(0, "i8", code), (2, "i32", 1), (3, "i32", code)]) for code in codes]
    meta_refs = []
    for meta, buffer in metadata:
        meta = text(meta)
        meta_refs.append(flat.table([(0, "ref", meta), (1, "u32", buffer)]))
    refs = [flat.refs(code_refs), flat.refs([subgraph]), text("made for tests"), flat.refs(buffer_refs)]
    fields = [(0, "u32", 3)] + list(zip([1, 2, 3, 4], ["ref"] * 4, refs))
    if meta_refs:
        fields.append((6, "ref", flat.refs(meta_refs)))
    flat.builder.Finish(flat.table(fields), file_identifier=b"TFL3")
    with open(os.path.join(DATA, name + ".tflite"), "wb") as file:
        file.write(bytes(flat.builder.Output()))


def tflite_models():
    # ADD 0, RELU 19, RESHAPE 22, MUL 18; a diamond whose greedy plan is not minimal, with a view.
    f32 = 0
    add = [(0, "i8", 0)]
    shape = np.array([4, 8], dtype=np.int32).tobytes()
    weight = np.arange(32, dtype=np.float32).tobytes()
    tflite("chain",
           [("x", [1, 32], f32, 0), ("w", [1, 32], f32, 1), ("a", [1, 32], f32, 0), ("b", [1, 32], f32, 0),
            ("shape", [2], 2, 2), ("v", [4, 8], f32, 0), ("y", [4, 8], f32, 0)],
           [0, 19, 22, 18],
           [(0, [0, 1], [2], 11, add), (1, [2], [3], 0, []), (2, [3, 4], [5], 17, []), (3, [5, 5], [6], 21, add)],
           [0], [6], [b"", weight, shape, b"kept as it is"], [("min_runtime_version", 3)])


if __name__ == "__main__":
    os.makedirs(DATA, exist_ok=True)
    onnx_models()
    tflite_models()
