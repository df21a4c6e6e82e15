//! The numbers of frames: what the driver counts in 32 bits, counted on.

/// Counts the frames of one stream.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sequence {
    /// The frame before.
    last: Option<u64>,
}

impl Sequence {
    /// The number of the frame that the driver calls `now`, and how many are missing before it.
    pub(crate) fn next(&mut self, now: u32) -> (u64, u64) {
        let Some(last) = self.last else {
            self.last = Some(u64::from(now));
            return (u64::from(now), 0);
        };
        // As far as 31 bits say: a wrapped number is a step forwards, and a smaller one a step back,
        // because the driver began to count anew.
        let step = now.wrapping_sub(last as u32) as i32;
        let number = last.checked_add_signed(step.into()).unwrap_or(now.into());
        self.last = Some(number);
        // A step of one is the next frame, and one back misses nothing.
        (number, u64::try_from(step).unwrap_or(0).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of the driver's numbers.
    fn counted(numbers: &[u32]) -> Vec<(u64, u64)> {
        let mut sequence = Sequence::default();
        numbers.iter().map(|now| sequence.next(*now)).collect()
    }

    #[test]
    fn gaps_are_frames_that_are_missing() {
        assert_eq!(counted(&[7, 8, 11, 12]), [(7, 0), (8, 0), (11, 2), (12, 0)]);
    }

    #[test]
    fn what_wraps_is_counted_on() {
        const HIGH: u64 = 1 << 32;
        let most = u32::MAX;
        assert_eq!(
            counted(&[most - 1, most, 0, 3]),
            [(u64::from(most) - 1, 0), (u64::from(most), 0), (HIGH, 0), (HIGH + 3, 2),]
        );
        // As often as it wraps.
        let thirds = [0, 0x6000_0000, 0xc000_0000, 0x2000_0000, 0x8000_0000, 0xe000_0000, 1];
        let numbers: Vec<u64> = counted(&thirds).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers.last_chunk(), Some(&[HIGH + 0xe000_0000, 2 * HIGH + 1]));
        assert!(numbers.is_sorted());
    }

    #[test]
    fn a_driver_that_begins_anew_loses_nothing() {
        assert_eq!(counted(&[500, 0, 1]), [(500, 0), (0, 0), (1, 0)]);
        // The same number again, and one that would be before the first.
        assert_eq!(counted(&[5, 5, 0xffff_fff0]), [(5, 0), (5, 0), (0xffff_fff0, 0)]);
    }
}
