//! The messages of an ONNX file, as far as memory depends on them.
//!
//! Names are borrowed from the file; attributes and the content of tensors stay where they are
//! until something asks for them.

use super::budget::Budget;
use super::error::WireFault;
use super::wire::Message;
use crate::{Error, Result};

/// How deep graphs may lie inside graphs.
const MAX_DEPTH: usize = 24;
/// The most entries of a list of dimensions.
pub(crate) const MAX_AXES: usize = 64;
/// The most operator sets of a model or function, and the most attributes of a node: they are
/// looked through one by one.
const MAX_OPSETS: usize = 256;
const MAX_ATTRIBUTES: usize = 256;

/// `ModelProto`.
#[derive(Debug)]
pub(crate) struct Model<'a> {
    pub(crate) graph: GraphProto<'a>,
    /// Domain and version; the domain "ai.onnx" is written "".
    pub(crate) opsets: Vec<(&'a str, u64)>,
    pub(crate) functions: Vec<Function<'a>>,
    /// What is left to spend on building the graph.
    pub(crate) budget: Budget,
}

/// `FunctionProto`: an operator that the file itself defines.
#[derive(Debug, Default)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) overload: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) nodes: Vec<NodeProto<'a>>,
    pub(crate) opsets: Vec<(&'a str, u64)>,
    /// How much there is in it.
    pub(crate) weight: usize,
}

/// `GraphProto`.
#[derive(Debug, Default)]
pub(crate) struct GraphProto<'a> {
    pub(crate) nodes: Vec<NodeProto<'a>>,
    pub(crate) initializers: Vec<TensorProto<'a>>,
    pub(crate) inputs: Vec<ValueInfo<'a>>,
    pub(crate) outputs: Vec<ValueInfo<'a>>,
    pub(crate) value_info: Vec<ValueInfo<'a>>,
    /// How much there is in it, and in the graphs in it.
    pub(crate) weight: usize,
}

/// `NodeProto`.
#[derive(Debug, Default)]
pub(crate) struct NodeProto<'a> {
    pub(crate) name: &'a str,
    pub(crate) op: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) overload: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) attributes: Vec<AttributeProto<'a>>,
    pub(crate) graphs: Vec<(&'a str, GraphProto<'a>)>,
}

/// `AttributeProto`, not yet looked into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttributeProto<'a> {
    pub(crate) name: &'a str,
    pub(crate) body: Message<'a>,
    /// Name of the attribute of the surrounding function that this one stands for.
    pub(crate) refers: &'a str,
}

/// `TensorProto`: the head, and where the content lies.
#[derive(Debug, Clone)]
pub(crate) struct TensorProto<'a> {
    pub(crate) name: &'a str,
    pub(crate) dims: Vec<u64>,
    pub(crate) dtype: crate::ElementType,
    pub(crate) body: Message<'a>,
}

/// One axis of a declared shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dim<'a> {
    Known(u64),
    Symbol(&'a str),
    Unknown,
}

/// `ValueInfoProto`.
#[derive(Debug, Clone)]
pub(crate) struct ValueInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: Option<crate::ElementType>,
    pub(crate) shape: Option<Vec<Dim<'a>>>,
}

impl<'a> Model<'a> {
    pub(crate) fn read(message: Message<'a>) -> Result<Model<'a>> {
        let (mut graph, mut opsets, mut functions) = (None, Vec::new(), Vec::new());
        let mut budget = Budget::for_reading();
        for field in message.fields() {
            let field = field?;
            match field.number {
                7 => graph = Some(GraphProto::read(field.message()?, 0, &mut budget)?),
                8 => add_opset(&mut opsets, field.message()?)?,
                25 => functions.push(Function::read(field.message()?, &mut budget)?),
                _ => {}
            }
        }
        let fault = Error::Wire { offset: 0, fault: WireFault::NoGraph };
        let budget = budget.for_building();
        Ok(Model { graph: graph.ok_or(fault)?, opsets, functions, budget })
    }
}

fn add_opset<'a>(opsets: &mut Vec<(&'a str, u64)>, message: Message<'a>) -> Result<()> {
    if opsets.len() == MAX_OPSETS {
        let fault = WireFault::TooMany { field: 8, most: MAX_OPSETS };
        return Err(Error::Wire { offset: message.offset(), fault });
    }
    let (mut domain, mut version) = ("", 1);
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => domain = plain_domain(field.text()?),
            2 => version = field.unsigned()?,
            _ => {}
        }
    }
    opsets.push((domain, version));
    Ok(())
}

/// The standard domain has two names.
fn plain_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

impl<'a> Function<'a> {
    fn read(message: Message<'a>, budget: &mut Budget) -> Result<Function<'a>> {
        let mut function = Function::default();
        let before = budget.spent();
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 => function.name = field.text()?,
                4 => function.inputs.push(budget.name(&field)?),
                5 => function.outputs.push(budget.name(&field)?),
                7 => function.nodes.push(NodeProto::read(field.message()?, 1, budget)?),
                9 => add_opset(&mut function.opsets, field.message()?)?,
                10 => function.domain = plain_domain(field.text()?),
                13 => function.overload = field.text()?,
                _ => {}
            }
        }
        function.weight = budget.part()? + budget.spent() - before;
        Ok(function)
    }
}

impl<'a> GraphProto<'a> {
    fn read(message: Message<'a>, depth: usize, budget: &mut Budget) -> Result<GraphProto<'a>> {
        if depth > MAX_DEPTH {
            let fault = WireFault::Depth { most: MAX_DEPTH };
            return Err(Error::Wire { offset: message.offset(), fault });
        }
        let mut graph = GraphProto::default();
        let before = budget.spent();
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 => graph.nodes.push(NodeProto::read(field.message()?, depth, budget)?),
                5 => graph.initializers.push(TensorProto::read(field.message()?)?),
                11 => graph.inputs.push(ValueInfo::read(field.message()?)?),
                12 => graph.outputs.push(ValueInfo::read(field.message()?)?),
                13 => graph.value_info.push(ValueInfo::read(field.message()?)?),
                15 => graph.initializers.push(TensorProto::read_sparse(field.message()?)?),
                _ => continue,
            }
            budget.part()?;
        }
        graph.weight = budget.spent() - before;
        Ok(graph)
    }
}

impl<'a> NodeProto<'a> {
    fn read(message: Message<'a>, depth: usize, budget: &mut Budget) -> Result<NodeProto<'a>> {
        let mut node = NodeProto::default();
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 => node.inputs.push(budget.name(&field)?),
                2 => node.outputs.push(budget.name(&field)?),
                3 => node.name = field.text()?,
                4 => node.op = field.text()?,
                5 => node.attribute(field.message()?, depth, budget)?,
                7 => node.domain = plain_domain(field.text()?),
                8 => node.overload = field.text()?,
                _ => {}
            }
        }
        // Names left out at the end are the same as none.
        while node.inputs.last().is_some_and(|name| name.is_empty()) {
            node.inputs.pop();
        }
        Ok(node)
    }

    fn attribute(&mut self, body: Message<'a>, depth: usize, budget: &mut Budget) -> Result<()> {
        if self.attributes.len() + self.graphs.len() == MAX_ATTRIBUTES {
            let fault = WireFault::TooMany { field: 5, most: MAX_ATTRIBUTES };
            return Err(Error::Wire { offset: body.offset(), fault });
        }
        budget.entry()?;
        let (mut name, mut refers, mut graph) = ("", "", None);
        for field in body.fields() {
            let field = field?;
            match field.number {
                1 => name = field.text()?,
                6 => graph = Some(GraphProto::read(field.message()?, depth + 1, budget)?),
                21 => refers = field.text()?,
                _ => {}
            }
        }
        match graph {
            Some(graph) => self.graphs.push((name, graph)),
            None => self.attributes.push(AttributeProto { name, body, refers }),
        }
        Ok(())
    }

    /// The graph in this attribute.
    pub(crate) fn graph(&self, name: &str) -> Option<&GraphProto<'a>> {
        self.graphs.iter().find(|(found, _)| *found == name).map(|(_, graph)| graph)
    }
}

impl<'a> TensorProto<'a> {
    pub(crate) fn read(body: Message<'a>) -> Result<TensorProto<'a>> {
        let (mut name, mut dims, mut code) = ("", Vec::new(), 0);
        for field in body.fields() {
            let field = field?;
            match field.number {
                1 => field.append_signed(MAX_AXES, &mut dims)?,
                2 => code = field.unsigned()?,
                8 => name = field.text()?,
                _ => {}
            }
        }
        let dtype = element_type(code, body.offset())?;
        Ok(TensorProto { name, dims: positive(&dims, body.offset())?, dtype, body })
    }

    /// A `SparseTensorProto`: the name is that of its values, the shape its own.
    pub(crate) fn read_sparse(body: Message<'a>) -> Result<TensorProto<'a>> {
        let (mut values, mut dims) = (None, Vec::new());
        for field in body.fields() {
            let field = field?;
            match field.number {
                1 => values = Some(TensorProto::read(field.message()?)?),
                3 => field.append_signed(MAX_AXES, &mut dims)?,
                _ => {}
            }
        }
        let fault = Error::Wire { offset: body.offset(), fault: WireFault::Truncated };
        let values = values.ok_or(fault)?;
        let dims = positive(&dims, body.offset())?;
        // No content: it is not the content of the dense tensor.
        Ok(TensorProto { dims, body: Message::new(&[]), ..values })
    }
}

fn positive(dims: &[i64], offset: u64) -> Result<Vec<u64>> {
    let positive = |&dim| {
        let fault = WireFault::NegativeDim { dim };
        u64::try_from(dim).map_err(|_| Error::Wire { offset, fault })
    };
    dims.iter().map(positive).collect()
}

fn element_type(code: u64, offset: u64) -> Result<crate::ElementType> {
    let fault = WireFault::ElementType { code };
    crate::ElementType::from_onnx(code).ok_or(Error::Wire { offset, fault })
}

impl<'a> ValueInfo<'a> {
    fn read(message: Message<'a>) -> Result<ValueInfo<'a>> {
        let mut info = ValueInfo { name: "", dtype: None, shape: None };
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 => info.name = field.text()?,
                2 => info.read_type(field.message()?)?,
                _ => {}
            }
        }
        Ok(info)
    }

    fn read_type(&mut self, message: Message<'a>) -> Result<()> {
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 | 8 => self.read_tensor_type(field.message()?)?,
                // Sequence, map, optional, opaque.
                4 | 5 | 7 | 9 => {
                    self.dtype = Some(crate::ElementType::Opaque);
                    self.shape = Some(Vec::new());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_tensor_type(&mut self, message: Message<'a>) -> Result<()> {
        for field in message.fields() {
            let field = field?;
            match field.number {
                1 => match field.unsigned()? {
                    0 => {}
                    code => self.dtype = Some(element_type(code, field.offset)?),
                },
                2 => self.shape = Some(read_shape(field.message()?)?),
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_shape(message: Message<'_>) -> Result<Vec<Dim<'_>>> {
    let mut shape = Vec::new();
    for field in message.fields() {
        let field = field?;
        if field.number != 1 {
            continue;
        }
        if shape.len() == MAX_AXES {
            let fault = WireFault::TooMany { field: 1, most: MAX_AXES };
            return Err(Error::Wire { offset: field.offset, fault });
        }
        let mut dim = Dim::Unknown;
        for part in field.message()?.fields() {
            let part = part?;
            match part.number {
                1 => dim = part.signed()?.try_into().map_or(Dim::Unknown, Dim::Known),
                2 => match part.text()? {
                    "" | "?" => {}
                    symbol => dim = Dim::Symbol(symbol),
                },
                _ => {}
            }
        }
        shape.push(dim);
    }
    Ok(shape)
}
