//! Whether offsets fit together: an own sweep over the steps, before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use super::error::PlanFault;
use crate::{Graph, Kind};

/// Bytes that every offset is a multiple of.
const ALIGN: u64 = 16;

/// A tensor with a place, and the steps in which its bytes matter.
struct Tenant {
    tensor: usize,
    offset: u64,
    end: u64,
    first: usize,
    last: usize,
}

/// Checks every offset by itself, then every pair that is alive together.
pub(super) fn check(graph: &Graph, offsets: &[Option<u64>]) -> Result<(), PlanFault> {
    if offsets.len() != graph.tensors.len() {
        let (offsets, tensors) = (offsets.len(), graph.tensors.len());
        return Err(PlanFault::Count { offsets, tensors });
    }
    let lives = lifetimes(graph);
    let mut tenants = Vec::new();
    for (index, (info, &offset)) in graph.tensors.iter().zip(offsets).enumerate() {
        let Some(offset) = offset else { continue };
        let name = || info.name.clone();
        let what = match info.kind {
            Kind::Constant => Some("a weight"),
            Kind::Variable => Some("a variable"),
            Kind::Activation if info.bytes == 0 => Some("empty"),
            Kind::Activation => None,
        };
        if let Some(what) = what {
            return Err(PlanFault::NotPlanned { index, name: name(), what });
        }
        if offset % ALIGN != 0 {
            return Err(PlanFault::Align { index, name: name(), offset });
        }
        let end = offset.checked_add(info.bytes).filter(|&end| end <= i32::MAX as u64);
        let Some(end) = end else {
            return Err(PlanFault::TooFar { index, name: name(), offset, bytes: info.bytes });
        };
        if let Some(&Some((first, last))) = lives.get(index) {
            tenants.push(Tenant { tensor: index, offset, end, first, last });
        }
    }
    tenants.sort_by_key(|tenant| tenant.first);
    let bases = bases(graph);
    // Those alive by the step after which they are not, and by where they are. Two of them are
    // apart or, if they share, at the same bytes: so a look to the left ends at the first that is
    // apart.
    let mut ending: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut alive: BTreeMap<(u64, usize), &Tenant> = BTreeMap::new();
    for (index, tenant) in tenants.iter().enumerate() {
        while let Some(&(last, gone)) = ending.first().filter(|(last, _)| *last < tenant.first) {
            ending.remove(&(last, gone));
            if let Some(gone_tenant) = tenants.get(gone) {
                alive.remove(&(gone_tenant.offset, gone));
            }
        }
        for other in alive.range(..(tenant.end, 0)).rev().map(|(_, other)| other) {
            if other.end <= tenant.offset {
                break;
            }
            if !may_share(graph, &bases, other, tenant) {
                let name = |tenant: &Tenant| {
                    let name = graph.tensors.get(tenant.tensor).map(|info| info.name.as_str());
                    name.filter(|name| !name.is_empty())
                        .map_or_else(|| format!("#{}", tenant.tensor), str::to_owned)
                };
                return Err(PlanFault::Overlap { left: name(other), right: name(tenant) });
            }
        }
        ending.insert((tenant.last, index));
        alive.insert((tenant.offset, index), tenant);
    }
    Ok(())
}

/// First and last step of each tensor; inputs begin before the first, outputs never end.
fn lifetimes(graph: &Graph) -> Vec<Option<(usize, usize)>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; graph.tensors.len()];
    let mut touch = |tensor: usize, step: usize| {
        if let Some(life) = lives.get_mut(tensor) {
            *life = Some(match *life {
                Some((first, last)) => (first.min(step), last.max(step)),
                None => (step, step),
            });
        }
    };
    for &input in &graph.inputs {
        touch(input, 0);
    }
    for (step, node) in graph.nodes.iter().enumerate() {
        for &tensor in node.inputs.iter().chain(&node.outputs).flatten() {
            touch(tensor, step + 1);
        }
    }
    for &output in &graph.outputs {
        touch(output, graph.nodes.len() + 1);
    }
    lives
}

/// Whether the later one is a view of the earlier, or written over it in its last step.
fn may_share(graph: &Graph, bases: &[usize], earlier: &Tenant, later: &Tenant) -> bool {
    let Some(step) = later.first.checked_sub(1) else { return false };
    let Some(node) = graph.nodes.get(step) else { return false };
    let shared_base = |left: usize, right: usize| bases.get(left) == bases.get(right);
    let same = (earlier.offset, earlier.end) == (later.offset, later.end);
    // Over an input, or over a view of it, that nothing reads later.
    let over = earlier.last == later.first
        && node
            .in_place
            .iter()
            .any(|&(output, input)| output == later.tensor && shared_base(input, earlier.tensor));
    same && (shared_base(earlier.tensor, later.tensor) || over)
}

/// The tensor that each is a view of, at the end of a chain of views; itself for most.
fn bases(graph: &Graph) -> Vec<usize> {
    let mut bases: Vec<usize> = (0..graph.tensors.len()).collect();
    // Steps are in order, so what a view is of has its base already.
    for &(view, of) in graph.nodes.iter().flat_map(|node| &node.alias) {
        if let (Some(&base), Some(own)) = (bases.get(of).copied().as_ref(), bases.get_mut(view)) {
            *own = base;
        }
    }
    bases
}
