//! Frames and slots in few words.

use tenure::stream::{FrameReport, SlotReport, SlotState};

/// What a frame looks like: `nv12 1280x720 u8`, or `f32 [1, 1000]`.
pub(crate) fn frame_words(frame: &FrameReport) -> String {
    match (&frame.format, frame.width, frame.height) {
        (Some(format), Some(width), Some(height)) => {
            format!("{format} {width}x{height} {}", frame.dtype)
        }
        _ => format!("{} {:?}", frame.dtype, frame.shape),
    }
}

/// A sign for each slot: `·` free, `w` being filled, and how many have it.
pub(crate) fn slot_signs(slots: &[SlotReport]) -> String {
    let sign = |slot: &SlotReport| match slot.state {
        SlotState::Vacant => ' ',
        SlotState::Free => '·',
        SlotState::Claimed => 'w',
        SlotState::Published { frames } => u32::try_from(frames)
            .ok()
            .and_then(|frames| char::from_digit(frames, 10))
            .unwrap_or('+'),
        _ => '?',
    };
    slots.iter().map(sign).collect::<String>().trim_end().to_owned()
}
