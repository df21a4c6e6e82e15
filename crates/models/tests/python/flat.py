"""The few tables of TFLite that the tests need, written by hand by field number."""
import flatbuffers


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


def tflite(tensors, codes, operators, inputs, outputs, buffers, metadata=()):
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
    return bytes(flat.builder.Output())
