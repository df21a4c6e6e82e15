//! What is measured of a memory, as a table.

use super::limit::Limit;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// A new frame, dropped without a touch.
    Allocate,
    /// The guard for writing, taken and dropped.
    Map,
    /// Filling frames that nobody has touched.
    FirstTouch,
    /// Filling frames that were filled before.
    Refill,
    /// A new frame, filled and dropped.
    NewFrame,
    /// The same from a pool.
    PooledFrame,
    /// A frame sent over a socket, received, mapped anew, dropped.
    Share,
    /// A frame copied into another.
    Copy,
    /// A frame copied into another with the channels first.
    Transpose,
}

/// What a measurement is called and compared with.
pub(super) struct Words {
    /// In JSON.
    pub(super) name: &'static str,
    /// In a heading.
    pub(super) title: &'static str,
    /// What is done.
    pub(super) what: &'static str,
    /// What cannot be surpassed, if bytes are moved; otherwise the memories are compared.
    pub(super) limit: Option<Limit>,
}

impl Measure {
    /// All, in the order in which they are shown.
    pub(super) const ALL: [Measure; 9] = [
        Measure::Allocate,
        Measure::Map,
        Measure::FirstTouch,
        Measure::Refill,
        Measure::NewFrame,
        Measure::PooledFrame,
        Measure::Share,
        Measure::Copy,
        Measure::Transpose,
    ];

    pub(super) fn words(self) -> Words {
        let words = |name, title, what, limit| Words { name, title, what, limit };
        let (memset, memcpy) = (Some(Limit::Memset), Some(Limit::Memcpy));
        match self {
            Measure::Allocate => {
                words("allocate", "Allocate", "a new frame, dropped untouched", None)
            }
            Measure::Map => words("map", "Map", "for writing, and unmap", None),
            Measure::FirstTouch => {
                words("first_touch", "First touch", "fill a frame nobody has touched", memset)
            }
            Measure::Refill => words("refill", "Refill", "fill a frame again", memset),
            Measure::NewFrame => words("new_frame", "New frame", "allocate, fill, drop", memset),
            Measure::PooledFrame => {
                words("pooled_frame", "Pooled frame", "the same from a pool", memset)
            }
            Measure::Share => words("share", "Share", "send, receive, map, drop", None),
            Measure::Copy => words("copy", "Copy", "into another frame", memcpy),
            Measure::Transpose => {
                words("transpose", "Transpose", "copy, channels first (HWC to CHW)", memcpy)
            }
        }
    }
}
