//! The processor: its name, the features that copies and conversions use, its caches.

use serde::Serialize;

use super::Tree;

/// What is known about the processor.
#[derive(Debug, Serialize)]
pub(crate) struct Processor {
    /// Its name, where the system tells it.
    pub(crate) name: Option<String>,
    /// Threads that this process may run at the same time.
    pub(crate) threads: Option<usize>,
    /// Features that it has, of those that matter for copying and converting tensors.
    pub(crate) features: Vec<&'static str>,
    /// Caches for data, of the first processor.
    pub(crate) caches: Vec<Cache>,
}

/// One cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Cache {
    /// 1 is nearest to the processor.
    pub(crate) level: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

/// Looks at the processor.
pub(crate) fn processor(tree: &Tree) -> Processor {
    Processor {
        name: name(tree),
        threads: std::thread::available_parallelism().ok().map(usize::from),
        features: features(),
        caches: caches(tree),
    }
}

fn name(tree: &Tree) -> Option<String> {
    let listed = tree.text("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    // Boards are known by their model; Windows tells programs in the environment.
    let board = || Some(tree.text("/proc/device-tree/model")?.trim_end_matches('\0').to_owned());
    listed.or_else(board).or_else(|| std::env::var("PROCESSOR_IDENTIFIER").ok())
}

/// Bytes of the largest cache for data.
pub(crate) fn largest_cache(tree: &Tree) -> Option<u64> {
    caches(tree).iter().map(|cache| cache.bytes).max()
}

fn caches(tree: &Tree) -> Vec<Cache> {
    const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";
    let mut caches = vec![];
    for name in tree.names(FOLDER).unwrap_or_default() {
        let field = |field: &str| tree.text(&format!("{FOLDER}/{name}/{field}"));
        let holds_data = field("type").is_some_and(|kind| kind != "Instruction");
        let level = field("level").and_then(|level| level.parse().ok());
        let bytes = field("size").and_then(|size| in_bytes(&size));
        if let (true, Some(level), Some(bytes)) = (holds_data, level, bytes) {
            caches.push(Cache { level, bytes });
        }
    }
    caches
}

/// `32K` or `4M` as bytes.
fn in_bytes(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Names whose question was answered with yes.
fn present(answers: &[(&'static str, bool)]) -> Vec<&'static str> {
    answers.iter().filter(|(_, yes)| *yes).map(|(name, _)| *name).collect()
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    present(&[
        ("sse4.1", has!("sse4.1")),
        ("avx", has!("avx")),
        ("avx2", has!("avx2")),
        ("fma", has!("fma")),
        ("f16c", has!("f16c")),
        ("avx512f", has!("avx512f")),
        ("avx512bw", has!("avx512bw")),
        ("avx512vbmi", has!("avx512vbmi")),
        ("avx512vnni", has!("avx512vnni")),
        ("avx512fp16", has!("avx512fp16")),
    ])
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    present(&[
        ("neon", has!("neon")),
        ("fp16", has!("fp16")),
        ("dotprod", has!("dotprod")),
        ("i8mm", has!("i8mm")),
        ("bf16", has!("bf16")),
        ("sve", has!("sve")),
        ("sve2", has!("sve2")),
    ])
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    present(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_board_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/cpuinfo", "processor : 0\nCPU part : 0xd03\n");
        put("proc/device-tree/model", "NXP i.MX 8M Plus\0");
        let caches = [("0", "Data", "1", "32K"), ("1", "Instruction", "1", "32K")];
        for (index, kind, level, size) in caches.into_iter().chain([("2", "Unified", "2", "1M")]) {
            let cache = format!("sys/devices/system/cpu/cpu0/cache/index{index}");
            put(&format!("{cache}/type"), kind);
            put(&format!("{cache}/level"), level);
            put(&format!("{cache}/size"), size);
        }
        let board = processor(&Tree::below(folder.path()));
        assert_eq!(board.name.as_deref(), Some("NXP i.MX 8M Plus"));
        let expected = [Cache { level: 1, bytes: 32 << 10 }, Cache { level: 2, bytes: 1 << 20 }];
        assert_eq!(board.caches, expected);
        assert_eq!(largest_cache(&Tree::below(folder.path())), Some(1 << 20));
    }
}
