//! Sizes of pages: the usual ones, the huge ones that were set aside, the transparent ones.

use serde::Serialize;

use crate::machine::Tree;

/// Pages of this machine.
#[derive(Debug, Serialize)]
pub(super) struct Pages {
    /// Bytes of a usual page.
    pub(super) size: Option<u64>,
    /// Every size of huge pages, smallest first.
    pub(super) huge: Vec<HugePages>,
    /// When ordinary memory gets huge pages by itself: `always`, `madvise` or `never`.
    pub(super) transparent: Option<String>,
    /// The same for shared memory: `always`, `within_size`, `advise`, `never`, `deny`, `force`.
    pub(super) transparent_shared: Option<String>,
}

/// Huge pages of one size, set aside by the administrator.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct HugePages {
    /// Bytes of one page.
    pub(super) size: u64,
    /// Pages set aside.
    pub(super) total: u64,
    /// Pages that nobody uses.
    pub(super) free: u64,
}

pub(super) fn pages(tree: &Tree) -> Pages {
    let setting = |file: &str| {
        let text = tree.text(&format!("/sys/kernel/mm/transparent_hugepage/{file}"))?;
        chosen(&text).map(str::to_owned)
    };
    Pages {
        size: page_size(),
        huge: huge(tree),
        transparent: setting("enabled"),
        transparent_shared: setting("shmem_enabled"),
    }
}

fn huge(tree: &Tree) -> Vec<HugePages> {
    const FOLDER: &str = "/sys/kernel/mm/hugepages";
    let read = |name: &String| {
        let number = |file: &str| tree.number(&format!("{FOLDER}/{name}/{file}"));
        let kibibytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        Some(HugePages {
            size: kibibytes.checked_mul(1024)?,
            total: number("nr_hugepages")?,
            free: number("free_hugepages")?,
        })
    };
    let mut huge: Vec<_> = tree.names(FOLDER).unwrap_or_default().iter().filter_map(read).collect();
    huge.sort_by_key(|pages| pages.size);
    huge
}

/// The word in brackets.
fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

#[cfg(unix)]
fn page_size() -> Option<u64> {
    u64::try_from(rustix::param::page_size()).ok()
}

#[cfg(not(unix))]
fn page_size() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn huge_pages_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("sys/kernel/mm");
        for (size, total, free) in [(1_048_576, 1, 0), (2048, 64, 60)] {
            let pages = base.join(format!("hugepages/hugepages-{size}kB"));
            fs::create_dir_all(&pages).unwrap();
            fs::write(pages.join("nr_hugepages"), format!("{total}\n")).unwrap();
            fs::write(pages.join("free_hugepages"), format!("{free}\n")).unwrap();
        }
        fs::create_dir_all(base.join("transparent_hugepage")).unwrap();
        fs::write(base.join("transparent_hugepage/enabled"), "always [madvise] never\n").unwrap();
        let pages = pages(&Tree::below(folder.path()));
        let expected = [
            HugePages { size: 2 << 20, total: 64, free: 60 },
            HugePages { size: 1 << 30, total: 1, free: 0 },
        ];
        assert_eq!(pages.huge, expected);
        assert_eq!(pages.transparent.as_deref(), Some("madvise"));
        assert_eq!(pages.transparent_shared, None);
    }
}
