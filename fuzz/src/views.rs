//! Layouts from arbitrary numbers, and chains of views of them.

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use tenure::layout::{DType, Layout, Result};

/// A layout to start from.
#[derive(Debug, Arbitrary)]
pub struct Start {
    dtype: u8,
    /// Small numbers, which make layouts that can be looked at element by element.
    shape: Vec<u8>,
    strides: Option<Vec<i8>>,
    offset: u8,
}

impl Start {
    pub fn dtype(&self) -> DType {
        let all: Vec<DType> = DType::all().collect();
        all[usize::from(self.dtype) % all.len()]
    }

    /// The layout, with a rank and dimensions that stay small.
    pub fn layout(&self) -> Result<Layout> {
        let most = match self.shape.len() {
            0..=2 => 70,
            3 => 18,
            _ => 7,
        };
        let shape: Vec<usize> = self.shape.iter().take(5).map(|&n| usize::from(n) % most).collect();
        match &self.strides {
            None => Layout::contiguous(self.dtype(), &shape)?.shifted(self.offset.into()),
            Some(strides) => {
                let strides: Vec<isize> =
                    strides.iter().take(shape.len()).map(|&n| n.into()).collect();
                Layout::strided(self.dtype(), &shape, &strides, self.offset.into())
            }
        }
    }
}

/// One view of another.
#[derive(Debug, Arbitrary)]
pub enum View {
    Slice {
        axis: u8,
        start: u8,
        end: u8,
        step: u8,
    },
    Index {
        axis: u8,
        index: u8,
    },
    Reshape {
        shape: Vec<u8>,
    },
    Permute {
        axes: Vec<u8>,
    },
    Squeeze {
        axis: u8,
    },
    Unsqueeze {
        axis: u8,
    },
    Broadcast {
        shape: Vec<u8>,
    },
    Shift {
        bytes: u8,
    },
    CountFromStart,
    /// The same again with numbers that are far too large.
    WildSlice {
        axis: u8,
        start: usize,
        end: usize,
        step: usize,
    },
    WildShape {
        shape: Vec<usize>,
        broadcast: bool,
    },
    WildShift {
        bytes: usize,
    },
}

fn sizes(numbers: &[u8]) -> Vec<usize> {
    numbers.iter().take(6).map(|&n| usize::from(n % 16)).collect()
}

impl View {
    /// Whether the result shows only elements of what it is a view of, at the same place.
    pub fn stays_inside(&self) -> bool {
        !matches!(self, View::Shift { .. } | View::CountFromStart | View::WildShift { .. })
    }

    /// The view of `layout`.
    pub fn of(&self, layout: &Layout) -> Result<Layout> {
        match self {
            View::Slice { axis, start, end, step } => {
                // Mostly ranges that exist.
                let axis = usize::from(axis % 6);
                let len = layout.shape().get(axis).copied().unwrap_or(0) + 1;
                let (start, end) = (usize::from(*start) % (len + 1), usize::from(*end) % (len + 1));
                layout.slice(axis, start, end, (step % 4).into())
            }
            View::Index { axis, index } => layout.index((axis % 6).into(), (index % 9).into()),
            View::Reshape { shape } => layout.reshape(&sizes(shape)),
            View::Permute { axes } => layout.permute(&sizes(axes)),
            View::Squeeze { axis } => layout.squeeze((axis % 6).into()),
            View::Unsqueeze { axis } => layout.unsqueeze((axis % 7).into()),
            View::Broadcast { shape } => layout.broadcast_to(&sizes(shape)),
            View::Shift { bytes } => layout.shifted((*bytes).into()),
            View::CountFromStart => layout.counted_from(layout.span().start),
            View::WildSlice { axis, start, end, step } => {
                layout.slice((*axis).into(), *start, *end, *step)
            }
            View::WildShape { shape, broadcast: true } => layout.broadcast_to(shape),
            View::WildShape { shape, broadcast: false } => layout.reshape(shape),
            View::WildShift { bytes } => layout.shifted(*bytes),
        }
    }
}

/// As many of the views as are allowed, one of the other.
pub fn chain(start: &Layout, views: &[View]) -> Layout {
    let mut layout = start.clone();
    for view in views.iter().take(8) {
        layout = view.of(&layout).unwrap_or(layout);
    }
    layout
}
