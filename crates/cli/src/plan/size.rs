//! A number of bytes as people write it.

use std::str::FromStr;

/// Bytes, maybe with a binary unit: `4096`, `512K`, `2M`, `1GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(word: &str) -> Result<Size, String> {
        let wrong = || format!("{word:?} is no number of bytes; write 4096, 512K, 2M or 1G");
        let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
        let (digits, unit) = word.split_at(end);
        let shift = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kib" => 10,
            "m" | "mib" => 20,
            "g" | "gib" => 30,
            "t" | "tib" => 40,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        number.checked_mul(1 << shift).map(Size).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_binary() {
        let cases =
            [("0", 0), ("4096", 4096), ("512K", 512 << 10), ("2m", 2 << 20), ("1GiB", 1 << 30)];
        for (word, bytes) in cases {
            assert_eq!(word.parse(), Ok(Size(bytes)));
        }
        for word in ["", "K", "1.5M", "-1", "1X", "99999999999T", "1 K"] {
            assert!(word.parse::<Size>().unwrap_err().contains("512K"), "{word}");
        }
    }
}
