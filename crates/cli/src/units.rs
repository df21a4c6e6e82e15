//! Numbers with their units, for people.

/// Bytes with a binary unit: `7.9 MiB`; exact multiples without a fraction: `4 KiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    let mut size = 1024u64;
    while unit + 1 < UNITS.len() && bytes / size >= 1024 {
        unit += 1;
        size *= 1024;
    }
    let name = UNITS.get(unit).copied().unwrap_or("");
    if bytes.is_multiple_of(size) {
        return format!("{} {name}", bytes / size);
    }
    format!("{:.1} {name}", bytes as f64 / size as f64)
}

/// A time with the unit that fits: `812 ns`, `3.21 µs`, `19.5 ms`.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "µs"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A rate in units of 10⁹ bytes per second: `12.3 GB/s`.
pub(crate) fn rate(gigabytes_per_second: f64) -> String {
    format!("{} GB/s", three_digits(gigabytes_per_second))
}

/// A number with three digits that matter, or more where the whole part has more.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (4096, "4 KiB"),
            (8_294_400, "7.9 MiB"),
            (1 << 30, "1 GiB"),
            (25_274_793_984, "23.5 GiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (number, text) in cases {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn times_and_rates_have_three_digits() {
        assert_eq!(time(0.5), "0.50 ns");
        assert_eq!(time(999.4), "999 ns");
        assert_eq!(time(999.6), "1.00 µs");
        assert_eq!(time(12_345.0), "12.3 µs");
        assert_eq!(time(2_345_678.0), "2.35 ms");
        assert_eq!(time(1.5e9), "1.50 s");
        assert_eq!(rate(9.999), "10.0 GB/s");
        assert_eq!(three_digits(12345.6), "12346");
    }
}
