//! Names of tensors in nested graphs, and which node needs which.

use std::collections::{HashMap, HashSet};

use super::proto::{GraphProto, NodeProto};

/// The tensors that a graph sees by name: its own, then those of the graph around it.
pub(crate) struct Scope<'a, 's> {
    own: HashMap<&'a str, usize>,
    around: Option<&'s Scope<'a, 's>>,
}

impl<'a, 's> Scope<'a, 's> {
    pub(crate) fn new(around: Option<&'s Scope<'a, 's>>) -> Scope<'a, 's> {
        Scope { own: HashMap::new(), around }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let around = || self.around.and_then(|around| around.find(name));
        self.own.get(name).copied().or_else(around)
    }

    /// Whether the graph itself has the name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.own.contains_key(name)
    }

    pub(crate) fn set(&mut self, name: &'a str, tensor: usize) {
        self.own.insert(name, tensor);
    }
}

/// For each node, the nodes that write what it, or a graph in it, reads.
pub(crate) fn needs<'a>(nodes: &[NodeProto<'a>]) -> Vec<Vec<usize>> {
    let mut writers: HashMap<&str, usize> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for output in node.outputs.iter().filter(|name| !name.is_empty()) {
            writers.entry(output).or_insert(index);
        }
    }
    nodes
        .iter()
        .map(|node| {
            let mut names: Vec<&str> = node.inputs.clone();
            for (_, graph) in &node.graphs {
                names.extend(free(graph));
            }
            let mut needs: Vec<usize> =
                names.iter().filter_map(|name| writers.get(name).copied()).collect();
            needs.sort_unstable();
            needs.dedup();
            needs
        })
        .collect()
}

/// Names that a graph reads from around it.
fn free<'a>(graph: &GraphProto<'a>) -> HashSet<&'a str> {
    let mut read: HashSet<&str> = graph.outputs.iter().map(|output| output.name).collect();
    for node in &graph.nodes {
        read.extend(node.inputs.iter().copied());
        for (_, graph) in &node.graphs {
            read.extend(free(graph));
        }
    }
    for name in graph.inputs.iter().map(|input| input.name) {
        read.remove(name);
    }
    for name in graph.initializers.iter().map(|tensor| tensor.name) {
        read.remove(name);
    }
    for name in graph.nodes.iter().flat_map(|node| &node.outputs) {
        read.remove(name);
    }
    read
}
