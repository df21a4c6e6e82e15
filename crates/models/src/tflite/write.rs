//! An offline memory plan in a TFLite file, in the form that TensorFlow Lite Micro reads.
//!
//! The old bytes stay as they are behind a new head: a root table, the lists of buffers and of
//! metadata, and the plan. References inside the old bytes are relative and keep their meaning;
//! absolute positions of data outside the flatbuffer move with the head.

use std::collections::BTreeSet;

use tenure_plan::{Options, Packer, Plan, PlannerMode};

use super::error::{FlatFault, PlanFault};
use super::flat::{Table, Vector};
use super::model::{Model, field};
use super::overlap;
use super::read::graph_of;
use crate::{Error, Graph, Result};

/// Name of the metadata entry.
const NAME: &str = "OfflineMemoryAllocation";
/// The head is a multiple of this, so that data keeps its alignment.
const HEAD_ALIGN: usize = 64;
/// The format ends here.
const MAX_FILE: u64 = i32::MAX as u64;

/// The offsets of a plan of [`Graph::arena_schedule`], one for each tensor; `None` for what is
/// not in the first arena.
///
/// All are `None` where the interpreter's own greedy plan is as small: it also places scratch
/// memory that only the kernels know of, and a fixed plan would only be in the way of that.
pub fn offline_offsets(graph: &Graph, plan: &Plan) -> Vec<Option<u64>> {
    let mut apart = graph.clone();
    for node in &mut apart.nodes {
        node.alias.clear();
        node.in_place.clear();
    }
    let (mode, packer) = (PlannerMode::Arena, Packer::GreedySize);
    let greedy = tenure_plan::plan(&apart.arena_schedule(), mode, packer, &Options::default());
    let needed = greedy.is_ok_and(|greedy| plan.bytes < greedy.bytes);
    let offset = |index| plan.place(index).filter(|&(arena, _)| needed && arena == 0);
    (0..plan.placements.len()).map(|index| offset(index).map(|place| place.1)).collect()
}

/// The file with a plan in it: `offsets` has one entry for each of the graph's tensors, as
/// [`read`](super::read) gives them; `None` leaves a tensor to the interpreter. A plan that is
/// already in the file is replaced.
///
/// Weights and variables have no offset. Tensors that are alive together may share bytes only
/// where the graph's `alias` and `in_place` say so, at the same offset.
///
/// # Errors
///
/// What is wrong with the file or with the plan.
pub fn write_offline_plan(model: &[u8], offsets: &[Option<u64>]) -> Result<Vec<u8>> {
    let parsed = Model::read(model)?;
    let graph = graph_of(&parsed)?;
    overlap::check(&graph, offsets).map_err(|fault| Error::Plan { fault })?;
    let root = parsed.root;
    for field in field::MODEL_KNOWN..root.fields() {
        if root.place(field)?.is_some() {
            return Err(root.fault(FlatFault::NewField { field }));
        }
    }
    let head = Head::new(&parsed, offsets)?;
    let shift = head.len();
    let size = shift as u64 + model.len() as u64;
    if size > MAX_FILE {
        return Err(Error::Plan { fault: PlanFault::FileSize { bytes: size } });
    }
    let mut file = head.bytes(shift)?;
    file.extend_from_slice(model);
    move_outside_data(&root, &mut file, shift as u64)?;
    // Tables that overlap in a strange file could have been changed with the positions.
    match Model::read(&file).and_then(|written| graph_of(&written)) {
        Ok(written) if written == graph => Ok(file),
        _ => Err(Error::Plan { fault: PlanFault::Overlapping }),
    }
}

/// What the new head refers to, as positions in the old file.
struct Head {
    version: u32,
    /// Field number and target of every reference of the root that is kept.
    kept: Vec<(u16, u64)>,
    /// Old buffers; `None` is the new one.
    buffers: Vec<Option<u64>>,
    /// Old metadata, without an old plan.
    metadata: Vec<u64>,
    /// Index of the new buffer.
    buffer: u32,
    plan: Vec<u8>,
}

impl Head {
    fn new(model: &Model<'_>, offsets: &[Option<u64>]) -> Result<Head> {
        let root = model.root;
        let targets = |vector: Vector<'_>| -> Result<Vec<u64>> {
            (0..vector.len).map(|index| vector.target(index)).collect()
        };
        let buffers = root.vector(field::MODEL_BUFFERS, 4, "Buffer")?;
        let mut buffers: Vec<Option<u64>> = targets(buffers)?.into_iter().map(Some).collect();
        let entries = root.vector(field::MODEL_METADATA, 4, "Metadata")?;
        let (mut metadata, mut old) = (Vec::new(), None);
        for (entry, target) in entries.tables().zip(targets(entries)?) {
            let entry = entry?;
            if entry.text(0)? == NAME {
                old = Some(entry.u32(1)?);
            } else {
                metadata.push(target);
            }
        }
        // The buffer of an old plan is taken over, unless something else uses it too.
        let used = |buffer: u32| {
            let mut tensors = model.subgraphs.iter().flat_map(|subgraph| &subgraph.tensors);
            tensors.any(|tensor| tensor.buffer == u64::from(buffer))
        };
        let reused = old.filter(|&buffer| buffer != 0 && !used(buffer));
        let slot = reused.and_then(|buffer| buffers.get_mut(buffer as usize));
        let buffer = match (slot, reused) {
            (Some(slot), Some(buffer)) => {
                *slot = None;
                buffer
            }
            _ => {
                // The first buffer stands for none.
                let count = buffers.len() as u64;
                let buffer = u32::try_from(count).ok().filter(|&count| count > 0);
                let missing = || root.fault(FlatFault::Missing { field: "buffers" });
                buffers.push(None);
                buffer.ok_or_else(missing)?
            }
        };
        let mut kept = Vec::new();
        for number in 1..field::MODEL_KNOWN {
            let rebuilt = number == field::MODEL_BUFFERS || number == field::MODEL_METADATA;
            if let (false, Some(target)) = (rebuilt, root.target(number)?) {
                kept.push((number, target));
            }
        }
        Ok(Head { version: root.u32(0)?, kept, buffers, metadata, buffer, plan: plan(offsets)? })
    }

    /// Bytes of the head. Its parts have fixed sizes, so that a dry run tells.
    fn len(&self) -> usize {
        let lists = 4 * (self.buffers.len() + self.metadata.len());
        (256 + lists + self.plan.len()).next_multiple_of(HEAD_ALIGN)
    }

    /// The head, for a file whose old bytes begin at `shift`.
    fn bytes(&self, shift: usize) -> Result<Vec<u8>> {
        let mut out = Out { bytes: Vec::with_capacity(shift) };
        let fields = usize::from(field::MODEL_KNOWN);
        out.u32(0); // The root, below.
        out.bytes.extend_from_slice(b"TFL3");
        // The list of fields: every field has its place, or 0 where there is none.
        let fields_at = out.bytes.len();
        out.u16(4 + 2 * fields);
        out.u16(4 + 4 * fields);
        let rebuilt = [0, field::MODEL_BUFFERS, field::MODEL_METADATA];
        for number in 0..field::MODEL_KNOWN {
            let there = rebuilt.contains(&number) || self.kept.iter().any(|kept| kept.0 == number);
            out.u16(if there { 4 + 4 * usize::from(number) } else { 0 });
        }
        out.align(4);
        let root = out.bytes.len();
        out.set(0, root)?;
        out.u32((root - fields_at) as u32);
        for _ in 0..fields {
            out.u32(0);
        }
        let place = |number: u16| root + 4 + 4 * usize::from(number);
        out.patch(place(0), self.version);
        for &(number, target) in &self.kept {
            out.set(place(number), shift + target as usize)?;
        }
        // The lists come before the tables that they refer to: references go forward only.
        out.set(place(field::MODEL_BUFFERS), out.bytes.len())?;
        let buffers = out.list(self.buffers.len());
        out.set(place(field::MODEL_METADATA), out.bytes.len())?;
        let metadata = out.list(self.metadata.len() + 1);
        // Metadata { name, buffer }.
        let entry_fields = out.fields(&[4, 8], 12);
        let entry = out.table(entry_fields);
        let name_at = out.bytes.len();
        out.u32(0);
        out.u32(self.buffer);
        // Buffer { data }.
        let buffer_fields = out.fields(&[4], 8);
        let buffer = out.table(buffer_fields);
        let data_at = out.bytes.len();
        out.u32(0);
        out.set(name_at, out.bytes.len())?;
        out.u32(NAME.len() as u32);
        out.bytes.extend_from_slice(NAME.as_bytes());
        out.bytes.push(0);
        // The data itself is aligned, not its length in front of it.
        while out.bytes.len() % 16 != 12 {
            out.bytes.push(0);
        }
        out.set(data_at, out.bytes.len())?;
        out.u32(self.plan.len() as u32);
        out.bytes.extend_from_slice(&self.plan);
        for (index, target) in self.buffers.iter().enumerate() {
            out.set(buffers + 4 * index, target.map_or(buffer, |old| shift + old as usize))?;
        }
        for (index, &target) in self.metadata.iter().enumerate() {
            out.set(metadata + 4 * index, shift + target as usize)?;
        }
        out.set(metadata + 4 * self.metadata.len(), entry)?;
        if out.bytes.len() > shift {
            let bytes = out.bytes.len() as u64;
            return Err(Error::Plan { fault: PlanFault::FileSize { bytes } });
        }
        out.bytes.resize(shift, 0);
        Ok(out.bytes)
    }
}

/// Version, subgraph, how many, and an offset for each tensor; -1 leaves it to the interpreter.
fn plan(offsets: &[Option<u64>]) -> Result<Vec<u8>> {
    let count = i32::try_from(offsets.len());
    let too_many = Error::TooMany { what: "tensors", most: i32::MAX as usize };
    let mut plan = Vec::with_capacity(12 + 4 * offsets.len());
    for number in [1, 0, count.map_err(|_| too_many)?] {
        plan.extend_from_slice(&i32::to_le_bytes(number));
    }
    for &offset in offsets {
        // Checked before: every offset fits.
        let offset = offset.and_then(|offset| i32::try_from(offset).ok()).unwrap_or(-1);
        plan.extend_from_slice(&offset.to_le_bytes());
    }
    Ok(plan)
}

/// Bytes being written, with references filled in when their target is known.
struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn u16(&mut self, value: usize) {
        self.bytes.extend_from_slice(&(value as u16).to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn align(&mut self, align: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
    }

    fn patch(&mut self, at: usize, value: u32) {
        if let Some(bytes) = self.bytes.get_mut(at..at + 4) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// A reference from one place to another behind it.
    fn set(&mut self, at: usize, target: usize) -> Result<()> {
        let distance = target.checked_sub(at).and_then(|distance| u32::try_from(distance).ok());
        let fault = PlanFault::FileSize { bytes: target as u64 };
        self.patch(at, distance.ok_or(Error::Plan { fault })?);
        Ok(())
    }

    /// A list of references to be set; gives the place of the first.
    fn list(&mut self, len: usize) -> usize {
        self.u32(len as u32);
        let first = self.bytes.len();
        self.bytes.resize(first + 4 * len, 0);
        first
    }

    /// The list of fields of a table.
    fn fields(&mut self, places: &[usize], size: usize) -> usize {
        self.align(4);
        let at = self.bytes.len();
        self.u16(4 + 2 * places.len());
        self.u16(size);
        for &place in places {
            self.u16(place);
        }
        self.align(4);
        at
    }

    /// The start of a table; its fields follow.
    fn table(&mut self, fields: usize) -> usize {
        let at = self.bytes.len();
        self.u32((at - fields) as u32);
        at
    }
}

/// Absolute positions of data behind the flatbuffer, in buffers and in options of operators.
fn move_outside_data(root: &Table<'_>, file: &mut [u8], shift: u64) -> Result<()> {
    // Tables may be shared: each place is moved once.
    let mut places = BTreeSet::new();
    for buffer in root.vector(field::MODEL_BUFFERS, 4, "Buffer")?.tables() {
        let buffer = buffer?;
        if buffer.u64(field::BUFFER_OFFSET)? > 1 {
            places.extend(buffer.place(field::BUFFER_OFFSET)?);
        }
    }
    for subgraph in root.vector(field::MODEL_SUBGRAPHS, 4, "SubGraph")?.tables() {
        for operator in subgraph?.vector(3, 4, "Operator")?.tables() {
            let operator = operator?;
            if operator.u64(field::OPERATOR_LARGE_OPTIONS)? > 1 {
                places.extend(operator.place(field::OPERATOR_LARGE_OPTIONS)?);
            }
        }
    }
    for place in places {
        let at = (shift + place) as usize;
        let Some(bytes) = file.get_mut(at..at + 8) else { continue };
        if let Ok(old) = <[u8; 8]>::try_from(&*bytes) {
            let moved = u64::from_le_bytes(old).saturating_add(shift);
            bytes.copy_from_slice(&moved.to_le_bytes());
        }
    }
    Ok(())
}
