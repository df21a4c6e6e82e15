//! Which outputs are views of inputs, and which may be written over them: one table per format.
//!
//! In place is right where element i of the output needs no element of that input behind i, or
//! needs only sums over a row that are taken before the row is written. Convolutions, products,
//! pools and transposes read what they would already have overwritten, and are not here.

use crate::graph::{Graph, Kind, Node};

/// More inputs than this are not offered to one output; a planner takes one of them.
const MAX_IN_PLACE: usize = 16;

/// How many inputs, from the first, an output may be written over.
enum InPlace {
    No,
    /// Only the input at this position.
    Only(usize),
    /// Any input of the same shape and type.
    Any,
}

/// The first output has the bytes of the first input.
fn onnx_view(op: &str) -> bool {
    // Dropout does nothing when a model is only run.
    matches!(op, "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout")
}

fn onnx_in_place(op: &str) -> InPlace {
    match op {
        // Element by element, one input that has the shape of the output.
        "Abs" | "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "BitwiseNot" | "Ceil"
        | "Celu" | "Clip" | "Cos" | "Cosh" | "Elu" | "Erf" | "Exp" | "Floor" | "Gelu"
        | "HardSigmoid" | "HardSwish" | "LeakyRelu" | "Log" | "Mish" | "Neg" | "Not" | "PRelu"
        | "Reciprocal" | "Relu" | "Round" | "Selu" | "Shrink" | "Sigmoid" | "Sign" | "Sin"
        | "Sinh" | "Softplus" | "Softsign" | "Sqrt" | "Swish" | "Tan" | "Tanh"
        | "ThresholdedRelu" | "BatchNormalization" => InPlace::Only(0),
        // Row by row.
        "Softmax"
        | "LogSoftmax"
        | "LayerNormalization"
        | "RMSNormalization"
        | "InstanceNormalization" => InPlace::Only(0),
        // The data is kept, and some of it replaced.
        "ScatterElements" | "ScatterND" => InPlace::Only(0),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "And" | "Or" | "Xor" | "BitShift"
        | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Max" | "Min" | "Mean" | "Sum" | "Where" => {
            InPlace::Any
        }
        "com.microsoft.BiasGelu" | "com.microsoft.FastGelu" | "com.microsoft.QuickGelu" => {
            InPlace::Only(0)
        }
        _ => InPlace::No,
    }
}

fn tflite_view(op: &str) -> bool {
    matches!(op, "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS")
}

fn tflite_in_place(op: &str) -> InPlace {
    match op {
        "ABS" | "CEIL" | "COS" | "ELU" | "EXP" | "FLOOR" | "GELU" | "HARD_SWISH" | "LEAKY_RELU"
        | "LOG" | "LOGICAL_NOT" | "LOGISTIC" | "NEG" | "PRELU" | "RELU" | "RELU6"
        | "RELU_0_TO_1" | "RELU_N1_TO_1" | "ROUND" | "RSQRT" | "SIGN" | "SIN" | "SQRT"
        | "SQUARE" | "TANH" | "ZEROS_LIKE" => InPlace::Only(0),
        "SOFTMAX" | "LOG_SOFTMAX" => InPlace::Only(0),
        "ADD" | "SUB" | "MUL" | "DIV" | "MAXIMUM" | "MINIMUM" | "POW" | "FLOOR_DIV"
        | "FLOOR_MOD" | "SQUARED_DIFFERENCE" | "LOGICAL_AND" | "LOGICAL_OR" | "BITWISE_XOR" => {
            InPlace::Any
        }
        _ => InPlace::No,
    }
}

/// Which table to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    Onnx,
    Tflite,
}

impl Rules {
    /// Fills `alias` and `in_place` of a node whose inputs and outputs are in the graph.
    pub(crate) fn apply(self, graph: &mut Graph, node: &mut Node) {
        let (view, in_place) = match self {
            Rules::Onnx => (onnx_view(&node.op), onnx_in_place(&node.op)),
            Rules::Tflite => (tflite_view(&node.op), tflite_in_place(&node.op)),
        };
        let Some(&Some(output)) = node.outputs.first() else { return };
        if view {
            if let Some(&Some(input)) = node.inputs.first() {
                self.alias(graph, node, output, input);
            }
            return;
        }
        for (index, input) in node.inputs.iter().enumerate() {
            let &Some(input) = input else { continue };
            if node.in_place.len() >= MAX_IN_PLACE {
                break;
            }
            let may = match in_place {
                InPlace::No => false,
                InPlace::Only(only) => index == only,
                InPlace::Any => true,
            };
            let (Some(from), Some(to)) = (graph.tensors.get(input), graph.tensors.get(output))
            else {
                continue;
            };
            let alike = from.shape == to.shape && from.dtype == to.dtype;
            let movable = from.kind == Kind::Activation && to.kind == Kind::Activation;
            let pair = (output, input);
            if may && alike && movable && to.bytes > 0 && !node.in_place.contains(&pair) {
                node.in_place.push(pair);
            }
        }
    }

    fn alias(self, graph: &mut Graph, node: &mut Node, output: usize, input: usize) {
        let (Some(from), Some(to)) = (graph.tensors.get(input), graph.tensors.get(output)) else {
            return;
        };
        if from.bytes != to.bytes || to.bytes == 0 || from.kind == Kind::Variable {
            return;
        }
        // What a view of a weight shows is in the file; TFLite's interpreters copy it.
        if from.kind == Kind::Constant {
            if self == Rules::Onnx
                && let Some(to) = graph.tensors.get_mut(output)
            {
                to.kind = Kind::Constant;
            }
            return;
        }
        if to.kind == Kind::Activation {
            node.alias.push((output, input));
        }
    }
}
