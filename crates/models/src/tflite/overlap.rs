//! Whether offsets fit together: an own sweep over the steps, before anything is written.

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
    let mut alive: Vec<&Tenant> = Vec::new();
    for tenant in &tenants {
        alive.retain(|other| other.last >= tenant.first);
        for other in &alive {
            let apart = other.end <= tenant.offset || tenant.end <= other.offset;
            if !apart && !may_share(graph, other, tenant) {
                let name = |tenant: &Tenant| {
                    let name = graph.tensors.get(tenant.tensor).map(|info| info.name.as_str());
                    name.filter(|name| !name.is_empty())
                        .map_or_else(|| format!("#{}", tenant.tensor), str::to_owned)
                };
                return Err(PlanFault::Overlap { left: name(other), right: name(tenant) });
            }
        }
        alive.push(tenant);
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
fn may_share(graph: &Graph, earlier: &Tenant, later: &Tenant) -> bool {
    let Some(step) = later.first.checked_sub(1) else { return false };
    let Some(node) = graph.nodes.get(step) else { return false };
    let pair = (later.tensor, earlier.tensor);
    let same = earlier.offset == later.offset;
    let view = node.alias.contains(&pair) || shared_base(graph, earlier.tensor, later.tensor);
    // Over an input, or over a view of it, that nothing reads later.
    let over = earlier.last == later.first
        && node.in_place.iter().any(|&(output, input)| {
            output == later.tensor
                && (input == earlier.tensor || shared_base(graph, input, earlier.tensor))
        });
    same && (view || over)
}

/// Whether both are views of one tensor.
fn shared_base(graph: &Graph, left: usize, right: usize) -> bool {
    let base = |mut tensor: usize| {
        // Views of views are few; steps are in order, so this goes back only.
        for node in graph.nodes.iter().rev() {
            if let Some(&(_, from)) = node.alias.iter().find(|&&(to, _)| to == tensor) {
                tensor = from;
            }
        }
        tensor
    };
    base(left) == base(right)
}
