//! ONNX: a tree of protobuf fields. Nodes read what others write, attributes have the names that
//! operators ask for, graphs lie in graphs, and functions call functions.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use super::{Number, dimension, name};

#[rustfmt::skip]
const OPERATORS: [&str; 72] = [
    "Add", "Mul", "Relu", "Conv", "ConvTranspose", "MatMul", "Gemm", "Reshape", "Transpose", "Concat",
    "Split", "Slice", "Gather", "GatherND", "GatherElements", "ScatterND", "Squeeze", "Unsqueeze",
    "Expand", "Tile", "Pad", "Resize", "MaxPool", "AveragePool", "GlobalAveragePool", "LpPool",
    "Constant", "ConstantOfShape", "Range", "Shape", "Size", "Cast", "Identity", "Flatten", "Einsum",
    "ReduceSum", "ReduceMean", "ArgMax", "TopK", "OneHot", "Where", "NonZero", "NonMaxSuppression",
    "Softmax", "LSTM", "GRU", "RNN", "If", "Loop", "Scan", "SpaceToDepth", "DepthToSpace", "Trilu",
    "EyeLike", "CumSum", "Col2Im", "DFT", "STFT", "MelWeightMatrix", "Attention", "RoiAlign",
    "GridSample", "AffineGrid", "CenterCropPad", "Upsample", "QuantizeLinear", "Dropout", "Unique",
    "SequenceConstruct", "TensorScatter", "F0", "F1",
];

#[rustfmt::skip]
const ATTRIBUTES: [&str; 40] = [
    "axis", "axes", "kernel_shape", "strides", "pads", "dilations", "group", "auto_pad", "perm",
    "shape", "value", "value_ints", "to", "keepdims", "num_outputs", "split", "equation", "transA",
    "transB", "output_shape", "output_padding", "ceil_mode", "hidden_size", "direction", "layout",
    "then_branch", "else_branch", "body", "num_scan_inputs", "scan_output_axes", "blocksize", "batch_dims",
    "mode", "start", "end", "sizes", "scales", "k", "dtype", "onesided",
];

#[derive(Debug, Arbitrary)]
pub struct File {
    opset: u8,
    graph: Graph,
    functions: Vec<Function>,
}

#[derive(Debug, Arbitrary)]
struct Graph {
    inputs: Vec<Info>,
    initializers: Vec<Tensor>,
    nodes: Vec<Node>,
    infos: Vec<Info>,
    outputs: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
struct Function {
    inputs: u8,
    nodes: Vec<Node>,
    output: u8,
}

#[derive(Debug, Arbitrary)]
struct Node {
    operator: u8,
    inputs: Vec<u8>,
    outputs: u8,
    attributes: Vec<Attribute>,
    domain: u8,
}

#[derive(Debug, Arbitrary)]
struct Attribute {
    name: u8,
    value: Value,
}

#[derive(Debug, Arbitrary)]
enum Value {
    Int((i8, Number)),
    Ints(Vec<(i8, Number)>),
    Packed(Vec<(i8, Number)>),
    Float(f32),
    Text(u8),
    Tensor(Tensor),
    Graph(Box<Graph>),
    /// Of the call, inside a function.
    Outer(u8),
}

#[derive(Debug, Arbitrary)]
struct Tensor {
    shape: Vec<(u8, Number)>,
    dtype: u8,
    data: Data,
}

#[derive(Debug, Arbitrary)]
enum Data {
    None,
    Raw(Vec<u8>),
    Longs(Vec<(i8, Number)>),
    Floats(Vec<f32>),
    Outside,
}

#[derive(Debug, Arbitrary)]
struct Info {
    name: u8,
    dtype: u8,
    shape: Vec<(u8, Number)>,
    symbol: u8,
}

/// Fields of one message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }
}

/// A number with a sign, small mostly.
fn signed((small, number): (i8, Number)) -> u64 {
    let right = i64::from(small % 9).cast_unsigned();
    number.or(small.cast_unsigned(), right)
}

/// The names of tensors: t0 and on, written in order, so that what is read mostly exists.
fn tensor_name(number: u8, known: usize) -> String {
    match number {
        250.. => name(number),
        _ => format!("t{}", usize::from(number) % known.max(1)),
    }
}

/// The element types that there are, and some others.
fn dtype(number: u8) -> u64 {
    u64::from([1, 7, 6, 9, 10, 11, 2, 3, 1, 7, 22, number][usize::from(number) % 12])
}

impl Tensor {
    fn message(&self, name: &str) -> Message {
        let mut message = Message::default();
        for (small, number) in self.shape.iter().take(6) {
            message.number(1, dimension(*small, *number));
        }
        message.number(2, dtype(self.dtype));
        message.bytes(8, name.as_bytes());
        match &self.data {
            Data::None => {}
            Data::Raw(bytes) => message.bytes(9, &bytes[..bytes.len().min(256)]),
            Data::Longs(longs) => {
                longs.iter().take(16).for_each(|long| message.number(7, signed(*long)));
            }
            Data::Floats(floats) => {
                floats.iter().take(16).for_each(|float| message.float(4, *float));
            }
            Data::Outside => message.number(14, 1),
        }
        message
    }
}

impl Info {
    fn message(&self, name: &str) -> Message {
        let mut shape = Message::default();
        for (at, (small, number)) in self.shape.iter().take(6).enumerate() {
            let mut dim = Message::default();
            match usize::from(self.symbol) == at + 1 {
                true => dim.bytes(2, if self.symbol % 2 == 0 { b"batch" } else { b"n" }),
                false => dim.number(1, dimension(*small, *number)),
            }
            shape.bytes(1, &dim.0);
        }
        let (mut tensor, mut kind, mut info) =
            (Message::default(), Message::default(), Message::default());
        tensor.number(1, dtype(self.dtype));
        tensor.bytes(2, &shape.0);
        kind.bytes(1, &tensor.0);
        info.bytes(1, name.as_bytes());
        info.bytes(2, &kind.0);
        info
    }
}

impl Attribute {
    fn message(&self, depth: usize) -> Message {
        let mut message = Message::default();
        message.bytes(1, ATTRIBUTES[usize::from(self.name) % ATTRIBUTES.len()].as_bytes());
        let kind = match &self.value {
            Value::Int(number) => {
                message.number(3, signed(*number));
                2
            }
            Value::Ints(numbers) => {
                numbers.iter().take(8).for_each(|number| message.number(8, signed(*number)));
                7
            }
            Value::Packed(numbers) => {
                let mut packed = Message::default();
                numbers.iter().take(8).for_each(|number| packed.varint(signed(*number)));
                message.bytes(8, &packed.0);
                7
            }
            Value::Float(float) => {
                message.float(2, *float);
                1
            }
            Value::Text(text) => {
                let words = ["SAME_UPPER", "VALID", "ij,jk->ik", "i...,i->...", "DCR", "linear"];
                message.bytes(4, words[usize::from(*text) % words.len()].as_bytes());
                3
            }
            Value::Tensor(tensor) => {
                message.bytes(5, &tensor.message("value").0);
                4
            }
            Value::Graph(graph) => {
                if depth < 4 {
                    message.bytes(6, &graph.message(depth + 1).0);
                }
                5
            }
            Value::Outer(outer) => {
                let name = ATTRIBUTES[usize::from(*outer) % ATTRIBUTES.len()];
                message.bytes(21, name.as_bytes());
                2
            }
        };
        message.number(20, kind);
        message
    }
}

impl Node {
    /// Writes the node, whose outputs come after `known` tensors; gives how many there are then.
    fn message(&self, known: usize, depth: usize) -> (Message, usize) {
        let mut message = Message::default();
        for input in self.inputs.iter().take(6) {
            message.bytes(1, tensor_name(*input, known).as_bytes());
        }
        let outputs = usize::from(self.outputs % 4).max(1);
        for output in known..known + outputs {
            message.bytes(2, format!("t{output}").as_bytes());
        }
        message.bytes(4, OPERATORS[usize::from(self.operator) % OPERATORS.len()].as_bytes());
        for attribute in self.attributes.iter().take(6) {
            message.bytes(5, &attribute.message(depth).0);
        }
        if self.operator % 72 >= 70 {
            message.bytes(7, b"own");
        } else if self.domain > 250 {
            message.bytes(7, b"com.microsoft");
        }
        (message, known + outputs)
    }
}

impl Graph {
    fn message(&self, depth: usize) -> Message {
        let mut message = Message::default();
        let mut known = 0;
        for info in self.inputs.iter().take(4) {
            message.bytes(11, &info.message(&format!("t{known}")).0);
            known += 1;
        }
        for tensor in self.initializers.iter().take(6) {
            message.bytes(5, &tensor.message(&format!("t{known}")).0);
            known += 1;
        }
        for node in self.nodes.iter().take(12) {
            let (node, now) = node.message(known, depth);
            message.bytes(1, &node.0);
            known = now;
        }
        for info in self.infos.iter().take(4) {
            message.bytes(13, &info.message(&tensor_name(info.name, known)).0);
        }
        for output in self.outputs.iter().take(3) {
            let mut info = Message::default();
            info.bytes(1, tensor_name(*output, known).as_bytes());
            message.bytes(12, &info.0);
        }
        message
    }
}

impl File {
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = Message::default();
        file.number(1, 8);
        let mut opset = Message::default();
        opset.number(2, u64::from(self.opset % 27));
        file.bytes(8, &opset.0);
        for (at, function) in self.functions.iter().take(2).enumerate() {
            let mut message = Message::default();
            message.bytes(1, format!("F{at}").as_bytes());
            let mut known = usize::from(function.inputs % 4);
            (0..known).for_each(|input| message.bytes(4, format!("t{input}").as_bytes()));
            for node in function.nodes.iter().take(6) {
                let (node, now) = node.message(known, 0);
                message.bytes(7, &node.0);
                known = now;
            }
            message.bytes(5, tensor_name(function.output, known).as_bytes());
            message.bytes(10, b"own");
            file.bytes(25, &message.0);
        }
        file.bytes(7, &self.graph.message(0).0);
        file.0
    }
}
