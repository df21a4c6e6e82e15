//! Coefficients as bits: Huffman codes, and a zero after every byte of ones.

use std::io::{self, Write};

use super::tables::{FIRST, OTHERS, Spec, ZIGZAG};

/// The codes of one table, by what they mean: their bits and how many there are.
struct Codes([(u16, u8); 256]);

impl Codes {
    fn new(spec: &Spec) -> Codes {
        let mut codes = [(0, 0); 256];
        let mut values = spec.values.iter();
        let mut code = 0u16;
        for (length, &count) in (1u8..).zip(&spec.counts) {
            for value in values.by_ref().take(usize::from(count)) {
                codes[usize::from(*value)] = (code, length);
                code = code.wrapping_add(1);
            }
            code <<= 1;
        }
        Codes(codes)
    }
}

/// Where the blocks of a picture go.
pub(super) struct Entropy<W: Write> {
    writer: W,
    /// Bits that are no byte yet, the last one lowest.
    bits: u64,
    count: u32,
    first: [Codes; 2],
    others: [Codes; 2],
}

impl<W: Write> Entropy<W> {
    pub(super) fn new(writer: W) -> Entropy<W> {
        let (first, others) = (FIRST.each_ref().map(Codes::new), OTHERS.each_ref().map(Codes::new));
        Entropy { writer, bits: 0, count: 0, first, others }
    }

    /// Writes a block of quantised coefficients in rows, with the tables of luma (0) or chroma
    /// (1), after a block of the same component that began with `before`.
    pub(super) fn block(
        &mut self,
        block: &[i32; 64],
        before: i32,
        tables: usize,
    ) -> io::Result<()> {
        let tables = tables & 1;
        let (length, bits) = magnitude(block[0] - before);
        self.put(self.first[tables].0[usize::from(length)])?;
        self.put((bits, length))?;
        let mut zeros = 0u8;
        for &place in &ZIGZAG[1..] {
            let value = block[usize::from(place & 63)];
            if value == 0 {
                zeros += 1;
                continue;
            }
            while zeros >= 16 {
                self.put(self.others[tables].0[0xf0])?;
                zeros -= 16;
            }
            let (length, bits) = magnitude(value);
            self.put(self.others[tables].0[usize::from(zeros << 4 | length)])?;
            self.put((bits, length))?;
            zeros = 0;
        }
        if zeros > 0 {
            self.put(self.others[tables].0[0])?;
        }
        Ok(())
    }

    fn put(&mut self, (bits, length): (u16, u8)) -> io::Result<()> {
        self.bits = self.bits << length | u64::from(bits);
        self.count += u32::from(length);
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.bits >> self.count) as u8;
            self.writer.write_all(&[byte])?;
            if byte == 0xff {
                self.writer.write_all(&[0])?;
            }
        }
        Ok(())
    }

    /// Fills the last byte with ones, and gives the writer back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.put((0x7f, 7))?;
        Ok(self.writer)
    }
}

/// How many bits a coefficient has, and these bits: negative ones less one. Coefficients of 8-bit
/// pictures have at most 11 bits, and their differences fit the tables.
fn magnitude(value: i32) -> (u8, u16) {
    let value = value.clamp(-2047, 2047);
    let length = 32 - value.unsigned_abs().leading_zeros();
    let bits = if value < 0 { value - 1 } else { value };
    (length as u8, (bits & ((1 << length) - 1)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_bits() {
        let cases = [(0, (0, 0)), (1, (1, 1)), (-1, (1, 0)), (2, (2, 2)), (-3, (2, 0))];
        for (value, expected) in cases {
            assert_eq!(magnitude(value), expected, "{value}");
        }
        assert_eq!(magnitude(-2047), (11, 0));
    }

    #[test]
    fn codes_follow_each_other() {
        let codes = Codes::new(&FIRST[0]);
        assert_eq!(&codes.0[..4], &[(0b00, 2), (0b010, 3), (0b011, 3), (0b100, 3)]);
        assert_eq!(codes.0[11], (0b1_1111_1110, 9));
    }
}
