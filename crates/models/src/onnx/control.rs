//! `If`, `Loop` and `Scan`: the graphs in them, put in place so that lifetimes stay right.
//!
//! Branches follow each other; then a step reads the results of both. A loop's body comes once,
//! between a step that writes what every round starts with and a step that reads it, all results
//! of the round, and all that the body takes from outside: none of that may be overwritten.

use super::build::{Around, Builder, Call};
use super::error::ShapeIssue;
use super::fact::Fact;
use super::names::Scope;
use super::op::{Ruling, axis};
use super::proto::GraphProto;
use crate::{ElementType, Error, Kind, Result};

impl<'a> Builder<'_, 'a, '_> {
    /// `None` if the node has no graph in it.
    pub(super) fn control(
        &mut self,
        call: &Call<'_, 'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Option<Result<()>> {
        if !call.node.domain.is_empty() {
            return None;
        }
        match call.node.op {
            "If" => Some(self.branches(call, scope, around)),
            "Loop" => Some(self.rounds(call, scope, around)),
            "Scan" => Some(self.scan(call, scope, around)),
            _ => None,
        }
    }

    /// The body of a node; gives the tensors of its outputs.
    fn inner(
        &mut self,
        graph: &GraphProto<'a>,
        inputs: &[usize],
        scope: &Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<Vec<usize>> {
        let mut inside = Scope::new(Some(scope));
        for (info, &tensor) in graph.inputs.iter().zip(inputs) {
            inside.set(info.name, tensor);
        }
        self.initializers(graph, &mut inside)?;
        self.body(graph, &mut inside, Around { depth: around.depth + 1, ..around })?;
        let find = |name: &str| {
            inside.find(name).ok_or_else(|| Error::MissingOutput { tensor: name.to_owned() })
        };
        graph.outputs.iter().map(|output| find(output.name)).collect()
    }

    fn graph_of<'o>(call: &Call<'o, 'a>, name: &'static str) -> Result<&'o GraphProto<'a>> {
        let missing = || call.shape_error(ShapeIssue::MissingAttribute { name });
        call.node.graph(name).ok_or_else(missing)
    }

    fn fact(&self, tensor: usize) -> Fact {
        let none = || Fact::new(ElementType::Opaque, Vec::new());
        self.facts.get(tensor).cloned().unwrap_or_else(none)
    }

    fn known(&self, tensor: Option<&Option<usize>>) -> Option<i64> {
        self.facts.get((*tensor?)?)?.as_ints()?.first().copied()
    }

    fn branches(
        &mut self,
        call: &Call<'_, 'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        let condition = self.known(call.inputs.first());
        let (mut results, mut impossible) = (Vec::new(), None);
        for (name, taken) in [
            ("then_branch", condition != Some(0)),
            ("else_branch", condition.is_none_or(|c| c == 0)),
        ] {
            if !taken {
                continue;
            }
            let graph = Self::graph_of(call, name)?;
            let prefix = self.enter(name);
            let (tensors, nodes) = (self.graph.tensors.len(), self.graph.nodes.len());
            let result = self.inner(graph, &[], scope, around);
            self.prefix = prefix;
            match result {
                Ok(result) => results.push(result),
                // Shapes that contradict each other: with these dimensions nobody goes here.
                Err(Error::Shape { node, op, tensor, issue }) if !issue.may_use_declared() => {
                    self.graph.tensors.truncate(tensors);
                    self.facts.truncate(tensors);
                    self.graph.nodes.truncate(nodes);
                    impossible = Some(Error::Shape { node, op, tensor, issue });
                }
                Err(error) => return Err(error),
            }
        }
        if let (true, Some(error)) = (results.is_empty(), impossible) {
            return Err(error);
        }
        let mut facts = Vec::new();
        for (index, name) in call.node.outputs.iter().enumerate() {
            let each = results.iter().filter_map(|result| result.get(index));
            let both: Vec<Fact> = each.map(|&tensor| self.fact(tensor)).collect();
            let declared = self.declared(call.declared, name);
            facts.push(larger(both, declared).map_err(|issue| call.shape_error(issue))?);
        }
        let mut inputs = call.inputs.clone();
        inputs.extend(results.iter().flatten().map(|&tensor| Some(tensor)));
        let call = Call { inputs, title: call.title.clone(), ..*call };
        self.finish(&call, facts, Kind::Activation, scope)
    }

    fn rounds(
        &mut self,
        call: &Call<'_, 'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        let count = self.known(call.inputs.first()).and_then(|count| u64::try_from(count).ok());
        let states = call.inputs.get(2..).unwrap_or_default();
        let mut starts =
            vec![Fact::new(ElementType::I64, Vec::new()), Fact::new(ElementType::Bool, Vec::new())];
        for &state in states {
            let issue = ShapeIssue::MissingInput { input: starts.len() };
            let state = state.ok_or_else(|| call.shape_error(issue))?;
            starts.push(Fact { values: None, ..self.fact(state) });
        }
        let length = count.ok_or(ShapeIssue::Values { input: 0 });
        let plan = Rounds { starts, skip: 1, states: states.len(), length, axes: Vec::new() };
        self.body_once(call, plan, scope, around)
    }

    fn scan(
        &mut self,
        call: &Call<'_, 'a>,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        let wrong = |issue| call.shape_error(issue);
        let op =
            super::op::Op { node: call.node, version: 11, inputs: Vec::new(), outer: around.outer };
        let scanned = op.need_int("num_scan_inputs").map_err(wrong)?;
        let old = around.opsets.iter().any(|&(domain, version)| domain.is_empty() && version < 9);
        let states = usize::try_from(scanned)
            .ok()
            .and_then(|scanned| call.inputs.len().checked_sub(scanned))
            .filter(|_| !old);
        let what = "the first version of Scan, or more scanned inputs than inputs";
        let states = states.ok_or_else(|| wrong(ShapeIssue::Unknown { what }))?;
        let along = op.ints("scan_input_axes").map_err(wrong)?.unwrap_or_default();
        let axes = op.ints("scan_output_axes").map_err(wrong)?.unwrap_or_default();
        let mut length = Err(ShapeIssue::Unknown { what: "the length of a scan of nothing" });
        let mut starts = Vec::new();
        for (index, &input) in call.inputs.iter().enumerate() {
            let missing = || wrong(ShapeIssue::MissingInput { input: index });
            let mut fact = Fact { values: None, ..self.fact(input.ok_or_else(missing)?) };
            if let Some(scanned) = index.checked_sub(states) {
                let at = along.get(scanned).copied().unwrap_or(0);
                let at = axis(at, fact.rank()).map_err(wrong)?;
                length = Ok(fact.shape.remove(at));
            }
            starts.push(fact);
        }
        let plan = Rounds { starts, skip: 0, states, length, axes };
        self.body_once(call, plan, scope, around)
    }

    fn body_once(
        &mut self,
        call: &Call<'_, 'a>,
        plan: Rounds,
        scope: &mut Scope<'a, '_>,
        around: Around<'_, 'a>,
    ) -> Result<()> {
        let graph = Self::graph_of(call, "body")?;
        let (first_tensor, first_node) = (self.graph.tensors.len(), self.graph.nodes.len());
        let prefix = self.enter("body");
        let mut inputs = Vec::new();
        for (info, fact) in graph.inputs.iter().zip(&plan.starts) {
            inputs.push(self.tensor(info.name, fact.clone(), Kind::Activation)?);
        }
        let begun = inputs.iter().map(|&tensor| Some(tensor)).collect();
        self.step(call, " (begin)", call.inputs.clone(), begun);
        let result = self.inner(graph, &inputs, scope, around);
        self.prefix = prefix;
        let results = result?;
        let mut facts = Vec::new();
        for (index, name) in call.node.outputs.iter().enumerate() {
            let missing = ShapeIssue::Output { output: index };
            let result = results.get(index + plan.skip);
            let result = self.fact(*result.ok_or_else(|| call.shape_error(missing))?);
            let declared = self.declared(call.declared, name);
            let fact = plan.output(index, result);
            let fact = match (fact, declared) {
                (Err(issue), Some(fact)) if issue.may_use_declared() => fact,
                (fact, _) => fact.map_err(|issue| call.shape_error(issue))?,
            };
            facts.push(Fact { values: None, ..fact });
        }
        // Everything that the next round needs as it is.
        let inside = self.graph.nodes.get(first_node..).unwrap_or_default();
        let mut kept: Vec<usize> =
            inside.iter().flat_map(|node| &node.inputs).flatten().copied().collect();
        kept.retain(|&tensor| tensor < first_tensor);
        kept.extend(inputs.iter().chain(&results));
        kept.sort_unstable();
        kept.dedup();
        let inputs = kept.into_iter().map(Some).collect();
        let end = Call { inputs, title: call.title.clone(), ..*call };
        self.finish(&end, facts, Kind::Activation, scope)?;
        self.collect_from_begin(first_node, plan.states);
        Ok(())
    }

    /// Outputs that collect what every round gives are written from the first round on.
    fn collect_from_begin(&mut self, begin: usize, states: usize) {
        let Some(end) = self.graph.nodes.last_mut() else { return };
        let collected = end.outputs.split_off(states.min(end.outputs.len()));
        end.inputs.extend(collected.iter().copied());
        if let Some(begin) = self.graph.nodes.get_mut(begin) {
            begin.outputs.extend(collected);
        }
    }
}

/// How a body is run again and again.
struct Rounds {
    /// What the inputs of the body are.
    starts: Vec<Fact>,
    /// Outputs of the body before the states.
    skip: usize,
    states: usize,
    /// Rounds at most.
    length: Ruling<u64>,
    /// Where the axis of rounds goes in each output that collects them; 0 if not said.
    axes: Vec<i64>,
}

impl Rounds {
    fn output(&self, index: usize, mut result: Fact) -> Ruling<Fact> {
        if let Some(collected) = index.checked_sub(self.states) {
            let at = self.axes.get(collected).copied().unwrap_or(0);
            let at = axis(at, result.rank() + 1)?;
            result.shape.insert(at.min(result.rank()), self.length.clone()?);
            return Ok(result);
        }
        let state = index + self.starts.len() - self.states;
        let state = if self.skip == 0 { index } else { state };
        match self.starts.get(state) {
            Some(start) if start.shape == result.shape || start.dtype.bits() == 0 => Ok(result),
            _ => Err(ShapeIssue::Unknown { what: "a state whose shape changes in every round" }),
        }
    }
}

/// A shape that is enough for the results of every branch.
fn larger(mut both: Vec<Fact>, declared: Option<Fact>) -> Ruling<Fact> {
    let none = ShapeIssue::Unknown { what: "what the branches give" };
    let Some(mut first) = both.pop() else { return declared.ok_or(none) };
    if both.is_empty() {
        return Ok(first);
    }
    for other in both {
        if other.shape == first.shape && other.dtype == first.dtype {
            if other.values != first.values {
                first.values = None;
            }
            continue;
        }
        if let Some(declared) = declared {
            return Ok(declared);
        }
        if other.rank() != first.rank() || other.dtype != first.dtype {
            return Err(none);
        }
        first.values = None;
        for (most, &dim) in first.shape.iter_mut().zip(&other.shape) {
            *most = dim.max(*most);
        }
    }
    Ok(first)
}
