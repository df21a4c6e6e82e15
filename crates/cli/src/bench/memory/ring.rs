//! Frames of one memory that are used in turn: when a frame is used again, the caches have
//! forgotten it.

use std::cell::Cell;

use tenure::{Tensor, TensorMemory};

use super::Size;

/// The frames of one memory.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) memory: TensorMemory,
    pub(super) size: Size,
    frames: Vec<Views>,
    next: Cell<usize>,
}

/// One frame, seen in different ways.
#[derive(Debug)]
pub(super) struct Views {
    /// Rows, columns, channels.
    pub(super) frame: Tensor<u8>,
    /// The same elements with the channels first, to read from.
    pub(super) channels_first: Tensor<u8>,
    /// The same bytes as channels, rows, columns, to write to.
    pub(super) planar: Tensor<u8>,
}

impl Ring {
    /// Frames in the memory named, filled once.
    pub(super) fn new(memory: TensorMemory, size: Size) -> tenure::tensor::Result<Ring> {
        let frames =
            (0..size.frames).map(|_| Views::new(memory, size)).collect::<Result<_, _>>()?;
        Ok(Ring { memory, size, frames, next: Cell::new(0) })
    }

    /// The frame that was not used for the longest time; `None` if there are none.
    pub(super) fn oldest(&self) -> Option<&Views> {
        let at = self.next.get();
        self.next.set((at + 1) % self.frames.len().max(1));
        self.frames.get(at)
    }
}

impl Views {
    fn new(memory: TensorMemory, size: Size) -> tenure::tensor::Result<Views> {
        let frame = Tensor::<u8>::new(&size.frame.shape(), Some(memory), Some("tenure-bench"))?;
        frame.map()?.as_mut_slice().fill(1);
        let channels_first = frame.permute(&[2, 0, 1])?;
        let planar = frame.reshape(&size.frame.planar())?;
        Ok(Views { frame, channels_first, planar })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_take_turns() {
        let frame = "4x2x3".parse().unwrap();
        let size = Size { frame, frames: 3, working_set: 72, large: 72 };
        let ring = Ring::new(TensorMemory::Mem, size).unwrap();
        let id = || ring.oldest().unwrap().frame.buffer_identity().id();
        let first = [id(), id(), id()];
        assert!(first[0] != first[1] && first[1] != first[2]);
        assert_eq!([id(), id(), id()], first);
        let views = ring.oldest().unwrap();
        assert_eq!(views.planar.shape(), views.channels_first.shape());
    }
}
