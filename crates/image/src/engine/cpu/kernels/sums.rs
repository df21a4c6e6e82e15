//! What kernels are told that sum rows.

/// A source row and its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tap {
    /// Its number in the plane.
    pub(crate) row: u32,
    /// The weight without its sign, twice: what fills a vector of 16-bit numbers.
    pub(crate) twice: u32,
    pub(crate) negative: bool,
}

impl Tap {
    /// A weight of at most 16 bits beside its sign.
    pub(crate) fn new(row: usize, weight: i32) -> Tap {
        let twice = (weight.unsigned_abs() & 0xffff).wrapping_mul(0x1_0001);
        Tap { row: row as u32, twice, negative: weight < 0 }
    }

    /// The weight as a number of 16 bits with its sign; one itself, which does not fit, is a little
    /// less.
    #[inline]
    pub(crate) fn narrow(&self) -> i16 {
        self.weight().clamp(-32768, 32767) as i16
    }

    pub(crate) fn weight(&self) -> i32 {
        let size = (self.twice & 0xffff) as i32;
        if self.negative { -size } else { size }
    }

    /// Half of what the products of these taps lose together when their lower halves are cut off.
    pub(crate) fn lost(taps: &[Tap]) -> i16 {
        let below = taps.iter().filter(|tap| tap.negative).count();
        ((taps.len() as i32 - 2 * below as i32) / 2) as i16
    }
}

/// How far below zero a finer sum may be that should be none: half of the most rows that one has. As
/// such a sum has no sign, it would be among the largest.
pub(crate) const BELOW: u16 = 64;

/// How rows are summed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum<'a> {
    pub(crate) taps: &'a [Tap],
    /// Bits after the point of the weights, and of the result.
    pub(crate) bits: u32,
    pub(crate) fraction: u32,
    /// Whether the sum needs 32 bits.
    pub(crate) wide: bool,
    /// Whether sums of 16 bits have one bit more after the point until they are done, and no sign.
    pub(crate) finer: bool,
    /// Whether weights may be below zero.
    pub(crate) signed: bool,
    /// What sums of 16 bits begin with: half of what all products lose together.
    pub(crate) begin: i16,
    /// The byte of the plane's first row that the first output is made of.
    pub(crate) first: *const u8,
    /// Bytes from a row to the next.
    pub(crate) stride: usize,
}

impl Sum<'_> {
    /// Where a tap's row has the first byte.
    #[inline(always)]
    pub(crate) fn row(&self, tap: &Tap) -> *const u8 {
        self.first.wrapping_add(tap.row as usize * self.stride)
    }
}

/// The weights of a source row in the two output rows that it is part of, each twice as in [`Tap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// How a band's output rows are summed in the order of source rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps<'a> {
    /// The source row of the first share; every next one has the next row.
    pub(crate) first: usize,
    pub(crate) shares: &'a [Share],
    /// The first share of the band.
    pub(crate) start: usize,
    /// Where shares end that are part of the first output and the one before it, of the first and
    /// the second, and so on: one more than the band has rows. They rise, and `shares` has the last.
    pub(crate) ends: &'a [usize],
}

impl Steps<'_> {
    /// Where the row of a share is.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn row(&self, band: &Band<'_>, share: usize) -> *const u8 {
        band.sum.first.wrapping_add((self.first + share) * band.sum.stride)
    }

    /// Source rows of the band.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn count(&self) -> usize {
        self.ends.last().map_or(0, |end| end - self.start)
    }

    /// Sees that they are those of the band: addresses depend on it.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn check(&self, band: &Band<'_>) {
        let Steps { shares, start, ends, .. } = self;
        let lanes = crate::engine::cpu::fixed::LANES;
        assert!(ends.is_sorted() && ends.last().is_some_and(|end| *end <= shares.len()));
        assert!(*start <= ends[0] && ends.len() == band.ends.len() + 1 && ends.len() <= lanes + 1);
    }
}

/// How a band's output rows are summed by pairs of source rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pairs<'a> {
    /// The first pair of each output row: that of source rows `2 n` and `2 n + 1`.
    pub(crate) firsts: &'a [usize],
    /// Where the weights of each output row end, those of the first beginning with number `start`.
    pub(crate) ends: &'a [usize],
    pub(crate) start: usize,
    /// The weights of two rows beside each other, each of less than 16 bits with its sign.
    pub(crate) weights: &'a [u32],
    /// Pairs for which there must be room, so that none of an output is in the place of another: a
    /// power of two.
    pub(crate) kept: usize,
    /// The last source row that may be read.
    pub(crate) last: usize,
}

impl<'a> Pairs<'a> {
    /// The first pair of an output row, and the weights of that and those after it.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "others sum rows alone"))]
    #[inline]
    pub(crate) fn of(&self, lane: usize) -> (usize, &'a [u32]) {
        let start = lane.checked_sub(1).map_or(self.start, |before| self.ends[before]);
        (self.firsts[lane], &self.weights[start..self.ends[lane]])
    }
}

/// What a band is made of: up to [`LANES`](crate::engine::cpu::fixed::LANES) sums of rows, and sums of nothing beyond them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band<'a> {
    /// All but the taps.
    pub(crate) sum: Sum<'a>,
    /// The taps of all sums, from this one on, and for each where its own end and what it begins
    /// with. Source rows rise from sum to sum, or fall.
    pub(crate) taps: &'a [Tap],
    pub(crate) start: usize,
    pub(crate) ends: &'a [(usize, i16)],
    /// The same in another order, where that is known.
    pub(crate) steps: Option<Steps<'a>>,
    /// The same by pairs, where sums are of 32 bits and there is no such order.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others sum rows alone"))]
    pub(crate) pairs: Option<Pairs<'a>>,
    /// Whether the source rows after these are wanted next.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "others fetch nothing"))]
    pub(crate) goes_on: bool,
}

impl<'a> Band<'a> {
    /// One of the sums.
    #[inline]
    pub(crate) fn lane(&self, lane: usize) -> Sum<'a> {
        let Some(&(end, begin)) = self.ends.get(lane) else {
            return Sum { taps: &[], begin: 0, ..self.sum };
        };
        let start = lane.checked_sub(1).map_or(self.start, |before| self.ends[before].0);
        Sum { taps: &self.taps[start..end], begin, ..self.sum }
    }

    /// The first and the last sum.
    fn outer(&self) -> [&'a [Tap]; 2] {
        [self.lane(0).taps, self.lane(self.ends.len().saturating_sub(1)).taps]
    }

    /// Source rows from the first to the last.
    pub(super) fn rows(&self) -> usize {
        let rows = |taps: &[Tap]| Some((taps.first()?.row, taps.last()?.row));
        let [Some(one), Some(other)] = self.outer().map(rows) else { return 0 };
        (one.1.max(other.1) - one.0.min(other.0)) as usize
    }

    /// Bytes from the first to the last source row.
    pub(super) fn reach(&self) -> usize {
        self.rows() * self.sum.stride
    }

    /// Source rows from one sum to the next, rounded up.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn advance(&self) -> usize {
        let [one, other] = self.outer().map(|taps| taps.first().map_or(0, |tap| tap.row));
        (other.saturating_sub(one) as usize).div_ceil(self.ends.len().max(2) - 1)
    }
}
