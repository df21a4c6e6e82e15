//! From the messages of a file to a graph: names become indices, every tensor gets its shape.

use std::collections::{BTreeMap, HashMap};

use super::budget::Budget;
use super::dims::Dims;
use super::error::ShapeIssue;
use super::fact::{Fact, Values};
use super::fold::fold;
use super::names::{Scope, needs};
use super::op::{Op, Ruling, check_rank};
use super::proto::{AttributeProto, Function, GraphProto, Model, NodeProto, ValueInfo};
use super::shapes;
use crate::order;
use crate::rules::Rules;
use crate::{ElementType, Error, Graph, Kind, Node, Result, TensorInfo};

/// The most tensors of a model, and the most nodes, with the bodies of functions wherever they
/// are called.
const MAX_TENSORS: usize = 1 << 20;
/// How deep functions may call functions, and graphs lie in graphs, when they are put in place.
const MAX_DEPTH: usize = 24;
/// The most numbers of tensors that are followed, in all.
const MAX_FOLLOWED: usize = 1 << 22;
/// Names of so many bytes cost as much as an entry of a list.
const NAME: usize = 16;
/// Outputs whose size depends on the data: the rule says the most there can be.
const DATA_DEPENDENT: &[&str] = &["Compress", "NonMaxSuppression", "NonZero", "Unique"];

pub(super) fn build(model: &Model<'_>, dims: &BTreeMap<String, u64>) -> Result<Graph> {
    let dims = Dims::check(dims, &model.graph)?;
    let (graph, facts, prefix) = (Graph::default(), Vec::new(), String::new());
    let budget = model.budget;
    let mut functions = HashMap::new();
    for function in &model.functions {
        let name = (function.domain, function.name, function.overload);
        functions.entry(name).or_insert(function);
    }
    let mut builder =
        Builder { functions, dims, graph, facts, prefix, visited: 0, budget, followed: 0 };
    let mut scope = Scope::new(None);
    builder.initializers(&model.graph, &mut scope)?;
    for input in model.graph.inputs.iter().filter(|input| !input.name.is_empty()) {
        if scope.has(input.name) {
            continue;
        }
        let fact = builder.dims.concrete(input);
        let fact = fact.ok_or_else(|| Error::InputShape { input: input.name.to_owned() })?;
        let tensor = builder.tensor(input.name, fact, Kind::Activation)?;
        builder.graph.inputs.push(tensor);
        scope.set(input.name, tensor);
    }
    let around = Around { opsets: &model.opsets, outer: &[], depth: 0 };
    builder.body(&model.graph, &mut scope, around)?;
    for output in &model.graph.outputs {
        let missing = || Error::MissingOutput { tensor: output.name.to_owned() };
        builder.graph.outputs.push(scope.find(output.name).ok_or_else(missing)?);
    }
    Ok(builder.graph)
}

/// What holds for the nodes of one body.
#[derive(Clone, Copy)]
pub(super) struct Around<'o, 'a> {
    pub(super) opsets: &'o [(&'a str, u64)],
    /// Attributes of the call, in the body of a function.
    pub(super) outer: &'o [AttributeProto<'a>],
    pub(super) depth: usize,
}

pub(super) struct Builder<'m, 'a, 'd> {
    /// By domain, name and overload.
    functions: HashMap<(&'a str, &'a str, &'a str), &'m Function<'a>>,
    dims: Dims<'d>,
    pub(super) graph: Graph,
    /// What is known of each tensor of the graph.
    pub(super) facts: Vec<Fact>,
    /// In front of the names in the body of a node, so that they stay unique.
    pub(super) prefix: String,
    /// Nodes so far, with calls.
    visited: usize,
    pub(super) budget: Budget,
    /// Numbers of all tensors that are followed.
    followed: usize,
}

pub(super) type Declared<'o, 'a> = HashMap<&'a str, &'o ValueInfo<'a>>;

impl<'m, 'a> Builder<'m, 'a, '_> {
    pub(super) fn tensor(&mut self, name: &str, mut fact: Fact, kind: Kind) -> Result<usize> {
        if self.graph.tensors.len() >= MAX_TENSORS {
            return Err(Error::TooMany { what: "tensors", most: MAX_TENSORS });
        }
        self.budget.spend((self.prefix.len() + name.len()) / NAME)?;
        let name = format!("{}{name}", self.prefix);
        let Some(bytes) = fact.dtype.bytes(&fact.shape) else {
            return Err(Error::TooLarge { tensor: name, shape: fact.shape });
        };
        // Shapes are computed from few numbers; where there are many, they are no longer followed.
        let count = fact.values.as_ref().map_or(0, Values::len);
        match self.followed.checked_add(count).filter(|&sum| sum <= MAX_FOLLOWED) {
            Some(sum) => self.followed = sum,
            None => fact.values = None,
        }
        let (shape, dtype) = (fact.shape.clone(), fact.dtype);
        self.facts.push(fact);
        self.graph.tensors.push(TensorInfo { name, shape, dtype, bytes, kind });
        Ok(self.graph.tensors.len() - 1)
    }

    pub(super) fn initializers(
        &mut self,
        graph: &GraphProto<'a>,
        scope: &mut Scope<'a, '_>,
    ) -> Result<()> {
        for tensor in &graph.initializers {
            if scope.has(tensor.name) {
                let node = "an initializer".to_owned();
                return Err(Error::Duplicate { tensor: tensor.name.to_owned(), node });
            }
            let index = self.tensor(tensor.name, Fact::of_tensor(tensor)?, Kind::Constant)?;
            scope.set(tensor.name, index);
        }
        Ok(())
    }

    /// All nodes of a graph, whose inputs and initializers are in the scope.
    pub(super) fn body(
        &mut self,
        graph: &GraphProto<'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        self.budget.spend(graph.weight)?;
        let infos = graph.value_info.iter().chain(&graph.outputs);
        let declared = infos.map(|info| (info.name, info)).collect();
        self.nodes(&graph.nodes, scope, around, &declared)
    }

    fn nodes(
        &mut self,
        nodes: &[NodeProto<'a>],
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
        declared: &Declared<'_, 'a>,
    ) -> Result<()> {
        if around.depth > MAX_DEPTH {
            return Err(Error::TooMany { what: "calls inside calls", most: MAX_DEPTH });
        }
        let title = |index: usize| nodes.get(index).map(|node| title(node, index));
        let order = order::sort(&needs(nodes))
            .map_err(|index| Error::Cycle { node: title(index).unwrap_or_default() })?;
        for index in order {
            let Some(node) = nodes.get(index) else { continue };
            self.visited += 1;
            if self.visited > MAX_TENSORS {
                return Err(Error::TooMany { what: "nodes", most: MAX_TENSORS });
            }
            let title = title(index).unwrap_or_default();
            self.budget.spend((title.len() + node.op.len() + node.domain.len()) / NAME)?;
            let mut inputs = Vec::with_capacity(node.inputs.len());
            for &name in &node.inputs {
                let missing =
                    || Error::MissingTensor { node: title.clone(), tensor: name.to_owned() };
                inputs.push(match name {
                    "" => None,
                    name => Some(scope.find(name).ok_or_else(missing)?),
                });
            }
            for output in &node.outputs {
                if scope.has(output) {
                    return Err(Error::Duplicate { tensor: (*output).to_owned(), node: title });
                }
            }
            let call = Call { node, title, inputs, declared };
            match self.control(&call, scope, around) {
                Some(done) => done?,
                None => match self.function(node) {
                    Some(function) => self.inline(&call, function, scope, around)?,
                    None => self.plain(&call, scope, around)?,
                },
            }
        }
        Ok(())
    }

    fn function(&self, node: &NodeProto<'a>) -> Option<&'m Function<'a>> {
        self.functions.get(&(node.domain, node.op, node.overload)).copied()
    }

    /// The body of a function in place of its call.
    fn inline(
        &mut self,
        call: &Call<'_, 'a>,
        function: &'m Function<'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        let mut inner = Scope::new(None);
        for (&name, input) in function.inputs.iter().zip(&call.inputs) {
            if let &Some(input) = input {
                inner.set(name, input);
            }
        }
        let opsets =
            if function.opsets.is_empty() { around.opsets } else { function.opsets.as_slice() };
        let inside = Around { opsets, outer: &call.node.attributes, depth: around.depth + 1 };
        self.budget.spend(function.weight)?;
        let prefix = self.enter("call");
        self.nodes(&function.nodes, &mut inner, inside, &HashMap::new())?;
        self.prefix = prefix;
        for (&name, &output) in function.outputs.iter().zip(&call.node.outputs) {
            let missing =
                || Error::MissingTensor { node: call.title.clone(), tensor: name.to_owned() };
            if !output.is_empty() {
                scope.set(output, inner.find(name).ok_or_else(missing)?);
            }
        }
        Ok(())
    }

    /// Sets the prefix for the body of a node; returns the one to set again afterwards.
    pub(super) fn enter(&mut self, what: &str) -> String {
        let inner = format!("{}{what}{}/", self.prefix, self.graph.nodes.len());
        std::mem::replace(&mut self.prefix, inner)
    }

    /// A node that is one step.
    fn plain(
        &mut self,
        call: &Call<'_, 'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        let node = call.node;
        let known = |&index: &Option<usize>| index.and_then(|index| self.facts.get(index));
        let opset = around.opsets.iter().find(|(domain, _)| *domain == node.domain);
        let op = Op {
            node,
            version: opset.map_or(if node.domain.is_empty() { u64::MAX } else { 1 }, |o| o.1),
            inputs: call.inputs.iter().map(known).collect(),
            outer: around.outer,
        };
        let facts = self.infer(&op, call.declared).map_err(|issue| call.shape_error(issue))?;
        let constant = node.op == "Constant" && node.domain.is_empty();
        let kind = if constant { Kind::Constant } else { Kind::Activation };
        self.finish(call, facts, kind, scope)
    }

    fn infer(&self, op: &Op<'_, 'a>, declared: &Declared<'_, 'a>) -> Ruling {
        let says = |name: &&str| declared.get(name).and_then(|info| self.dims.concrete(info));
        let rule = shapes::rule(op.node.domain, op.node.op);
        let mut facts = match rule.map_or(Err(ShapeIssue::Operator), |rule| rule(op)) {
            Ok(facts) => facts,
            Err(issue) if issue.may_use_declared() => {
                let unused = || Fact::new(ElementType::Opaque, Vec::new());
                let each = op.node.outputs.iter();
                let facts: Option<Vec<Fact>> = each
                    .map(|name| if name.is_empty() { Some(unused()) } else { says(name) })
                    .collect();
                facts.ok_or(issue)?
            }
            Err(issue) => return Err(issue),
        };
        // Outputs that the rule does not know of.
        for name in op.node.outputs.iter().skip(facts.len()) {
            let issue = ShapeIssue::Output { output: facts.len() };
            facts.push(if name.is_empty() {
                Fact::new(ElementType::Opaque, Vec::new())
            } else {
                says(name).ok_or(issue)?
            });
        }
        if DATA_DEPENDENT.contains(&op.node.op) {
            for (fact, name) in facts.iter_mut().zip(&op.node.outputs) {
                let fits = |said: &Fact| {
                    said.dtype == fact.dtype
                        && said.rank() == fact.rank()
                        && said.shape.iter().zip(&fact.shape).all(|(said, most)| said <= most)
                };
                if let Some(said) = says(name).filter(fits) {
                    *fact = said;
                }
            }
        }
        facts.iter().try_for_each(check_rank)?;
        if let (true, Some(first)) = (op.node.domain.is_empty(), facts.first_mut())
            && first.values.is_none()
        {
            first.values = fold(op, first);
        }
        Ok(facts)
    }

    /// Adds the outputs and the step.
    pub(super) fn finish(
        &mut self,
        call: &Call<'_, 'a>,
        facts: Vec<Fact>,
        kind: Kind,
        scope: &mut Scope<'a, '_>,
    ) -> Result<()> {
        let mut outputs = Vec::with_capacity(call.node.outputs.len());
        for (&name, fact) in call.node.outputs.iter().zip(facts) {
            if name.is_empty() {
                outputs.push(None);
                continue;
            }
            if scope.has(name) {
                let node = call.title.clone();
                return Err(Error::Duplicate { tensor: name.to_owned(), node });
            }
            let tensor = self.tensor(name, fact, kind)?;
            scope.set(name, tensor);
            outputs.push(Some(tensor));
        }
        self.step(call, "", call.inputs.clone(), outputs);
        Ok(())
    }

    /// Adds a step.
    pub(super) fn step(
        &mut self,
        call: &Call<'_, 'a>,
        part: &str,
        inputs: Vec<Option<usize>>,
        outputs: Vec<Option<usize>>,
    ) {
        let name = format!("{}{}{part}", self.prefix, call.title);
        let op = match call.node.domain {
            "" => call.node.op.to_owned(),
            domain => format!("{domain}.{}", call.node.op),
        };
        let mut node = Node { name, op, inputs, outputs, alias: Vec::new(), in_place: Vec::new() };
        Rules::Onnx.apply(&mut self.graph, &mut node);
        self.graph.nodes.push(node);
    }

    /// What the file declares for a tensor, if every dimension is known.
    pub(super) fn declared(&self, declared: &Declared<'_, 'a>, name: &str) -> Option<Fact> {
        declared.get(name).and_then(|info| self.dims.concrete(info))
    }
}

/// One node with its inputs found.
pub(super) struct Call<'o, 'a> {
    pub(super) node: &'o NodeProto<'a>,
    pub(super) title: String,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) declared: &'o Declared<'o, 'a>,
}

impl Call<'_, '_> {
    pub(super) fn shape_error(&self, issue: ShapeIssue) -> Error {
        Error::Shape {
            node: self.title.clone(),
            op: self.node.op.to_owned(),
            tensor: self
                .node
                .outputs
                .iter()
                .find(|name| !name.is_empty())
                .unwrap_or(&"")
                .to_string(),
            issue: Box::new(issue),
        }
    }
}

fn title(node: &NodeProto<'_>, index: usize) -> String {
    if node.name.is_empty() { format!("{}#{index}", node.op) } else { node.name.to_owned() }
}
