//! From the tables of a file to a graph.

use super::model::{Budget, Model, Operator, Subgraph, bytes_of};
use crate::rules::Rules;
use crate::{Error, Graph, Kind, Node, Result, TensorInfo};

/// The most steps, with subgraphs wherever they are called.
const MAX_NODES: usize = 1 << 20;
/// How deep subgraphs may call subgraphs.
const MAX_DEPTH: usize = 24;

/// The graph of a TFLite file: the tensors of all subgraphs one after the other, and the steps of
/// the first subgraph with those that it calls in place.
///
/// # Errors
///
/// What is wrong with the file, naming the offset, operator or tensor.
pub fn read(bytes: &[u8]) -> Result<Graph> {
    graph_of(&Model::read(bytes)?)
}

pub(super) fn graph_of(model: &Model<'_>) -> Result<Graph> {
    let mut graph = Graph::default();
    let mut starts = Vec::new();
    for subgraph in &model.subgraphs {
        starts.push(graph.tensors.len());
        for tensor in &subgraph.tensors {
            graph.tensors.push(TensorInfo {
                name: tensor.name.to_owned(),
                shape: tensor.shape.clone(),
                dtype: tensor.dtype,
                bytes: bytes_of(tensor)?,
                kind: Kind::from(tensor),
            });
        }
    }
    let written = vec![false; graph.tensors.len()];
    let mut builder = Builder { model, starts, graph, written, budget: Budget::new() };
    builder.subgraph(0, 0)?;
    let Builder { mut graph, .. } = builder;
    if let Some(main) = model.subgraphs.first() {
        graph.inputs.clone_from(&main.inputs);
        graph.outputs.clone_from(&main.outputs);
    }
    Ok(graph)
}

struct Builder<'m, 'a> {
    model: &'m Model<'a>,
    /// Index in the graph of each subgraph's first tensor.
    starts: Vec<usize>,
    graph: Graph,
    /// Which tensors have been written, or are inputs.
    written: Vec<bool>,
    /// For subgraphs that are gone through wherever they are called.
    budget: Budget,
}

impl<'m, 'a> Builder<'m, 'a> {
    fn place(&self, subgraph: usize, tensor: usize) -> usize {
        self.starts.get(subgraph).copied().unwrap_or(0) + tensor
    }

    fn mark(&mut self, tensors: &[usize]) {
        for &tensor in tensors {
            if let Some(written) = self.written.get_mut(tensor) {
                *written = true;
            }
        }
    }

    fn get(&self, index: usize) -> Option<&'m Subgraph<'a>> {
        self.model.subgraphs.get(index)
    }

    fn places(&self, subgraph: usize, tensors: &[Option<usize>]) -> Vec<Option<usize>> {
        let place = |tensor: &Option<usize>| tensor.map(|tensor| self.place(subgraph, tensor));
        tensors.iter().map(place).collect()
    }

    fn subgraph(&mut self, index: usize, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::TooMany { what: "calls inside calls", most: MAX_DEPTH });
        }
        let Some(subgraph) = self.get(index) else { return Ok(()) };
        self.budget.spend((subgraph.inputs.len() + subgraph.outputs.len()) as u64)?;
        let inputs: Vec<usize> =
            subgraph.inputs.iter().map(|&tensor| self.place(index, tensor)).collect();
        self.mark(&inputs);
        for (at, operator) in subgraph.operators.iter().enumerate() {
            self.operator(index, at, operator, depth)?;
        }
        let outputs = subgraph.outputs.iter().map(|&tensor| self.place(index, tensor));
        for output in outputs.collect::<Vec<_>>() {
            if self.is_missing(output) {
                return Err(Error::MissingOutput { tensor: self.name(output) });
            }
        }
        Ok(())
    }

    /// Needs to be written, and is not.
    fn is_missing(&self, tensor: usize) -> bool {
        let planned = self
            .graph
            .tensors
            .get(tensor)
            .is_some_and(|info| info.kind == Kind::Activation && info.bytes > 0);
        planned && self.written.get(tensor) == Some(&false)
    }

    /// The name of a tensor, or its number if it has none.
    fn name(&self, tensor: usize) -> String {
        match self.graph.tensors.get(tensor) {
            Some(info) if !info.name.is_empty() => info.name.clone(),
            _ => format!("#{tensor}"),
        }
    }

    fn operator(
        &mut self,
        in_graph: usize,
        at: usize,
        operator: &Operator,
        depth: usize,
    ) -> Result<()> {
        self.budget.spend((operator.inputs.len() + operator.outputs.len()) as u64)?;
        let inputs = self.places(in_graph, &operator.inputs);
        let outputs = self.places(in_graph, &operator.outputs);
        let prefix = if in_graph == 0 { String::new() } else { format!("{in_graph}/") };
        let name = format!("{prefix}{}#{at}", operator.name);
        if let Some(&missing) = inputs.iter().flatten().find(|&&input| self.is_missing(input)) {
            return Err(Error::MissingTensor { node: name, tensor: self.name(missing) });
        }
        if in_graph == 0 {
            let twice = outputs.iter().flatten().find(|&&output| {
                let kind = self.graph.tensors.get(output).map(|info| info.kind);
                self.written.get(output) == Some(&true) && kind != Some(Kind::Variable)
            });
            if let Some(&twice) = twice {
                return Err(Error::Duplicate { tensor: self.name(twice), node: name });
            }
        }
        let written: Vec<usize> = outputs.iter().flatten().copied().collect();
        self.mark(&written);
        if operator.calls.is_empty() {
            return self.step(name, operator, inputs, outputs);
        }
        // What the subgraphs start with is written before any of them runs, and all they start
        // and end with is kept until the last has run: a loop copies between them.
        let mut kept = outputs.clone();
        let mut begun = outputs;
        for &call in &operator.calls {
            let Some(subgraph) = self.get(call) else { continue };
            self.budget.spend((subgraph.inputs.len() + subgraph.outputs.len()) as u64)?;
            let ends = |list: &[usize]| -> Vec<Option<usize>> {
                list.iter().map(|&tensor| Some(self.place(call, tensor))).collect()
            };
            begun.extend(ends(&subgraph.inputs));
            kept.extend(ends(&subgraph.inputs));
            kept.extend(ends(&subgraph.outputs));
        }
        self.step(format!("{name} (begin)"), operator, inputs.clone(), begun)?;
        for &call in &operator.calls {
            self.subgraph(call, depth + 1)?;
        }
        kept.extend(inputs);
        self.step(name, operator, kept, Vec::new())
    }

    fn step(
        &mut self,
        name: String,
        operator: &Operator,
        inputs: Vec<Option<usize>>,
        outputs: Vec<Option<usize>>,
    ) -> Result<()> {
        if self.graph.nodes.len() >= MAX_NODES {
            return Err(Error::TooMany { what: "nodes", most: MAX_NODES });
        }
        let op = operator.name.clone();
        let mut node = Node { name, op, inputs, outputs, alias: Vec::new(), in_place: Vec::new() };
        Rules::Tflite.apply(&mut self.graph, &mut node);
        self.graph.nodes.push(node);
        Ok(())
    }
}
