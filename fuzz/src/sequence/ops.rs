//! The operations, as numbers that mostly mean something.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use super::World;

/// A sequence and how it ends.
#[derive(Debug, Arbitrary)]
pub struct Operations {
    /// How it ends, and whether there may be a stream.
    pub end: u8,
    pub ops: Vec<Op>,
}

/// One operation. Numbers name tensors, guards and the like, counted round.
#[derive(Debug, Arbitrary)]
pub enum Op {
    New {
        memory: u8,
        dtype: u8,
        shape: [u8; 3],
    },
    NewInPool {
        pool: u8,
        dtype: u8,
        shape: [u8; 3],
    },
    Lazy {
        pool: u8,
        dtype: u8,
        shape: [u8; 3],
    },
    MakePool {
        memory: u8,
        kilobytes: u8,
        buffers: u8,
    },
    TrimPool {
        pool: u8,
    },
    DropPool {
        pool: u8,
    },
    Share {
        tensor: u8,
    },
    Slice {
        tensor: u8,
        axis: u8,
        start: u8,
        end: u8,
        step: u8,
    },
    Index {
        tensor: u8,
        axis: u8,
        at: u8,
    },
    Reshape {
        tensor: u8,
        shape: [u8; 3],
        rank: u8,
    },
    Permute {
        tensor: u8,
        axes: [u8; 4],
    },
    Unsqueeze {
        tensor: u8,
        axis: u8,
    },
    Squeeze {
        tensor: u8,
        axis: u8,
    },
    Broadcast {
        tensor: u8,
        shape: [u8; 3],
    },
    DropTensor {
        tensor: u8,
    },
    Map {
        tensor: u8,
    },
    MapRead {
        tensor: u8,
    },
    MapStrided {
        tensor: u8,
    },
    MapStridedRead {
        tensor: u8,
    },
    BufferRead {
        tensor: u8,
        start: u8,
        end: u8,
    },
    BufferWrite {
        tensor: u8,
        start: u8,
        end: u8,
    },
    HoldKernel {
        tensor: u8,
        write: bool,
    },
    WriteGuard {
        guard: u8,
        at: u16,
        value: u8,
    },
    CheckGuard {
        guard: u8,
    },
    DropGuard {
        guard: u8,
    },
    Check {
        tensor: u8,
    },
    Fill {
        tensor: u8,
        value: u8,
    },
    Copy {
        to: u8,
        from: u8,
    },
    CopyInto {
        tensor: u8,
        memory: u8,
    },
    Aliases {
        one: u8,
        other: u8,
    },
    OnlyHandle {
        tensor: u8,
    },
    Descriptor {
        tensor: u8,
    },
    KeepDescriptor {
        tensor: u8,
    },
    OpenDescriptor {
        descriptor: u8,
    },
    Send {
        tensor: u8,
        read_only: bool,
    },
    Export {
        tensor: u8,
        read_only: bool,
    },
    ExportLegacy {
        tensor: u8,
    },
    ImportBack {
        export: u8,
    },
    DropExport {
        export: u8,
    },
    /// Only in sequences that may have a stream.
    Stream(StreamOp),
}

/// What is done with the stream; there is one at a time.
#[derive(Debug, Arbitrary)]
pub enum StreamOp {
    Subscribe { credits: u8 },
    Claim,
    Publish { slot: u8 },
    UseSlot { slot: u8 },
    DropSlot { slot: u8 },
    PublishTensor { tensor: u8 },
    PublishCopy { tensor: u8 },
    Next { subscriber: u8 },
    Latest { subscriber: u8 },
    Unsubscribe { subscriber: u8 },
    Evict { subscriber: u8 },
    Close,
}

impl World {
    pub(super) fn act(&mut self, op: &Op) {
        match *op {
            Op::New { memory, dtype, shape } => self.create(memory, dtype, shape),
            Op::NewInPool { pool, dtype, shape } => self.create_in(pool, dtype, shape, false),
            Op::Lazy { pool, dtype, shape } => self.create_in(pool, dtype, shape, true),
            Op::MakePool { memory, kilobytes, buffers } => {
                self.make_pool(memory, kilobytes, buffers);
            }
            Op::TrimPool { pool } => self.trim_pool(pool),
            Op::DropPool { pool } => self.drop_pool(pool),
            Op::Share { tensor } => self.share(tensor),
            Op::Slice { tensor, axis, start, end, step } => {
                self.slice(tensor, axis, start, end, step);
            }
            Op::Index { tensor, axis, at } => self.index(tensor, axis, at),
            Op::Reshape { tensor, shape, rank } => self.reshape(tensor, shape, rank),
            Op::Permute { tensor, axes } => self.permute(tensor, axes),
            Op::Unsqueeze { tensor, axis } => self.unsqueeze(tensor, axis),
            Op::Squeeze { tensor, axis } => self.squeeze(tensor, axis),
            Op::Broadcast { tensor, shape } => self.broadcast(tensor, shape),
            Op::DropTensor { tensor } => drop(take(&mut self.tensors, tensor)),
            Op::Map { tensor } => self.map(tensor),
            Op::MapRead { tensor } => self.map_read(tensor),
            Op::MapStrided { tensor } => self.map_strided(tensor),
            Op::MapStridedRead { tensor } => self.map_strided_read(tensor),
            Op::BufferRead { tensor, start, end } => self.hold_bytes(tensor, start, end, false),
            Op::BufferWrite { tensor, start, end } => self.hold_bytes(tensor, start, end, true),
            Op::HoldKernel { tensor, write } => self.hold_kernel(tensor, write),
            Op::WriteGuard { guard, at, value } => self.write_guard(guard, at, value),
            Op::CheckGuard { guard } => self.check_guard(guard),
            Op::DropGuard { guard } => drop(take(&mut self.guards, guard)),
            Op::Check { tensor } => self.tensor(tensor).into_iter().for_each(super::Held::check),
            Op::Fill { tensor, value } => self.fill(tensor, value),
            Op::Copy { to, from } => self.copy(to, from),
            Op::CopyInto { tensor, memory } => self.copy_into(tensor, memory),
            Op::Aliases { one, other } => self.aliases(one, other),
            Op::OnlyHandle { tensor } => self.only_handle(tensor),
            Op::Descriptor { tensor } => self.descriptor(tensor),
            Op::KeepDescriptor { tensor } => self.keep_descriptor(tensor),
            Op::OpenDescriptor { descriptor } => self.open_descriptor(descriptor),
            Op::Send { tensor, read_only } => self.send(tensor, read_only),
            Op::Export { tensor, read_only } => self.export(tensor, read_only),
            Op::ExportLegacy { tensor } => self.export_legacy(tensor),
            Op::ImportBack { export } => self.import_back(export),
            Op::DropExport { export } => drop(take(&mut self.exports, export)),
            Op::Stream(ref op) => {
                if self.streams {
                    self.stream_op(op);
                }
            }
        }
    }
}

/// Takes what a number stands for out of a list.
pub(super) fn take<T>(list: &mut Vec<T>, number: u8) -> Option<T> {
    (!list.is_empty()).then(|| list.remove(usize::from(number) % list.len()))
}
