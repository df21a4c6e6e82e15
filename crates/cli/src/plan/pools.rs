//! Several memories with sizes: what was asked for, and who went where.

use std::str::FromStr;

use serde::Serialize;
use tenure::plan::{MemoryPool, Placement, Plan, Pooled, Schedule, pools};

use super::Problem;
use super::progress::Search;
use super::size::Size;

/// A memory, as the command line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pool(MemoryPool);

impl FromStr for Pool {
    type Err = String;

    fn from_str(word: &str) -> Result<Pool, String> {
        let wrong = || "a pool is NAME=SIZE, like SRAM=512K, or NAME alone".to_owned();
        let (name, bytes) = match word.split_once('=') {
            Some((name, size)) => (name, Some(size.parse::<Size>()?.0)),
            None => (word, None),
        };
        let (name, device) = match name.rsplit_once('@') {
            Some((name, device)) => {
                let number = device.parse().map_err(|_| {
                    format!("{device:?} is no device; write its number, like {name}@1")
                })?;
                (name, number)
            }
            None => (name, 0),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        Ok(Pool(MemoryPool { name: name.to_owned(), device, bytes }))
    }
}

/// One memory and what is in it. The names of the fields stay.
#[derive(Debug, Serialize)]
pub(super) struct Use {
    pub(super) name: String,
    device: u32,
    /// Bytes that it has; `None` for as many as needed.
    pub(super) size: Option<u64>,
    /// Bytes that are taken.
    pub(super) bytes: u64,
    /// Bytes that are read and written in it, over the whole schedule.
    pub(super) traffic: u64,
    pub(super) buffers: usize,
}

/// Puts the buffers into the memories.
pub(super) fn fill(
    schedule: &Schedule,
    wanted: &[Pool],
    search: &Search,
) -> Result<(Plan, Vec<Use>), Problem> {
    let memories: Vec<MemoryPool> = wanted.iter().map(|Pool(pool)| pool.clone()).collect();
    for (index, MemoryPool { name, .. }) in memories.iter().enumerate() {
        if memories.iter().skip(index + 1).any(|other| other.name == *name) {
            return Err(Problem::TwoPools { name: name.clone() });
        }
    }
    let Pooled { plan, traffic } = search.run(|options| pools(schedule, &memories, options))?;
    let mut uses: Vec<Use> = memories
        .into_iter()
        .zip(&plan.arenas)
        .zip(traffic)
        .map(|((pool, arena), traffic)| {
            let MemoryPool { name, device, bytes: size } = pool;
            Use { name, device, size, bytes: arena.bytes, traffic, buffers: 0 }
        })
        .collect();
    for placement in &plan.placements {
        if let Placement::At { arena, .. } = placement
            && let Some(used) = uses.get_mut(*arena)
        {
            used.buffers += 1;
        }
    }
    Ok((plan, uses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_have_names_sizes_and_devices() {
        let pool =
            |name: &str, device, bytes| Ok(Pool(MemoryPool { name: name.into(), device, bytes }));
        assert_eq!("SRAM=512K".parse(), pool("SRAM", 0, Some(512 << 10)));
        assert_eq!("DRAM".parse(), pool("DRAM", 0, None));
        assert_eq!("SRAM@1=4096".parse(), pool("SRAM", 1, Some(4096)));
        for (word, said) in
            [("", "NAME=SIZE"), ("=1K", "NAME=SIZE"), ("S=big", "\"big\""), ("S@x=1K", "\"x\"")]
        {
            assert!(word.parse::<Pool>().unwrap_err().contains(said), "{word}");
        }
    }
}
