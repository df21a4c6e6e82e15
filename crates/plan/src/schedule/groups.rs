//! Who has whose bytes: every view resolved to the buffer that it is a part of in the end.

use super::error::ScheduleError;
use crate::lists::Lists;
use crate::{BufferSpec, Schedule};

/// For each buffer the one that has its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// The buffer that is no view; itself, if it is none.
    pub(crate) root: Vec<u32>,
    /// Bytes from the start of the root.
    pub(crate) offset: Vec<u64>,
}

impl Groups {
    /// Follows all views, in linear time.
    pub(crate) fn new(schedule: &Schedule) -> Result<Groups, ScheduleError> {
        const UNKNOWN: u32 = u32::MAX;
        const ON_THE_WAY: u32 = u32::MAX - 1;
        let buffers = &schedule.buffers;
        let mut root = vec![UNKNOWN; buffers.len()];
        let mut offset = vec![0; buffers.len()];
        let mut way = Vec::new();
        for start in 0..buffers.len() {
            let mut at = start;
            while root[at] == UNKNOWN {
                let spec = &buffers[at];
                let Some(view) = spec.view_of else {
                    root[at] = at as u32;
                    break;
                };
                let base = buffers.get(view.buffer).ok_or_else(|| ScheduleError::NoSuchBase {
                    buffer: spec.name.clone(),
                    other: view.buffer,
                    buffers: buffers.len(),
                })?;
                if view.offset.checked_add(spec.bytes).is_none_or(|end| end > base.bytes) {
                    return Err(ScheduleError::ViewOutside {
                        view: spec.name.clone(),
                        bytes: spec.bytes,
                        offset: view.offset,
                        base: base.name.clone(),
                        base_bytes: base.bytes,
                    });
                }
                if base.device != spec.device {
                    return Err(ScheduleError::ViewDevice {
                        view: spec.name.clone(),
                        device: spec.device,
                        base: base.name.clone(),
                        base_device: base.device,
                    });
                }
                root[at] = ON_THE_WAY;
                way.push((at, view.offset));
                at = view.buffer;
            }
            if root[at] == ON_THE_WAY {
                return Err(ScheduleError::ViewCycle { buffer: buffers[at].name.clone() });
            }
            let (end, mut from) = (root[at], offset[at]);
            for (view, step) in way.drain(..).rev() {
                // Inside of its base, which is inside of the root: no overflow.
                from += step;
                root[view] = end;
                offset[view] = from;
            }
        }
        Ok(Groups { root, offset })
    }

    /// The buffer that has `buffer`'s bytes.
    pub(crate) fn root(&self, buffer: usize) -> usize {
        self.root[buffer] as usize
    }

    /// `buffer`'s bytes in its root.
    pub(crate) fn range(&self, schedule: &Schedule, buffer: usize) -> std::ops::Range<u64> {
        self.offset[buffer]..self.offset[buffer] + schedule.buffers[buffer].bytes
    }

    /// Which steps touch each root or one of its views, each step once, in order. Buffers that
    /// `counts` says no to are not looked at.
    pub(crate) fn touches(
        &self,
        schedule: &Schedule,
        counts: impl Fn(&BufferSpec) -> bool,
    ) -> Lists {
        let mut last = vec![u32::MAX; schedule.buffers.len()];
        Lists::new(schedule.buffers.len(), |found| {
            last.fill(u32::MAX);
            for (index, step) in (0u32..).zip(&schedule.steps) {
                for (buffer, _) in step.touches() {
                    let root = self.root(buffer);
                    if counts(&schedule.buffers[buffer])
                        && std::mem::replace(&mut last[root], index) != index
                    {
                        found(root, index);
                    }
                }
            }
        })
    }
}
