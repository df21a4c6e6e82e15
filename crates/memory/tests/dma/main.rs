//! DMA-BUF on a kernel that has it: every source, synchronisation, import and fences.
//!
//! Ignored by default because most machines have none; `tests/vm/test` runs them in a virtual
//! machine, and `cargo test -p tenure-memory --test dma -- --ignored` on a machine that has it.
#![cfg(target_os = "linux")]

use tenure_memory::kind::dma::{Dma, Source, survey};
use tenure_memory::{
    Allocator, Buffer, CpuAccess, Error, Pool, Protection, Request, TensorMemory, import, kind,
};

mod access;
mod bad;
mod calls;
#[path = "../common/child.rs"]
mod child;
mod fences;
#[path = "../common/fork.rs"]
mod fork;
mod heap;
#[path = "../common/resources.rs"]
mod resources;
mod vgem;

fn allocate(allocator: &dyn Allocator, bytes: usize) -> Buffer {
    Buffer::from_raw(allocator.allocate(&Request::new(bytes).unwrap()).unwrap())
}

fn working() -> Vec<Source> {
    survey().into_iter().filter(|(_, answer)| answer.is_ok()).map(|(source, _)| source).collect()
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn every_source_of_the_virtual_machine_works() {
    let all = working();
    assert!(all.contains(&Source::Heap("system".to_owned())), "{:?}", survey());
    assert!(all.contains(&Source::Card("card0".to_owned())), "{:?}", survey());
    assert!(all.contains(&Source::Udmabuf), "{:?}", survey());
    assert_eq!(all[0], Source::Heap("system".to_owned()));
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn an_automatic_choice_takes_it_first() {
    let raw = tenure_memory::allocate(None, &Request::new(100).unwrap()).unwrap();
    assert_eq!(raw.memory(), TensorMemory::Dma);
    assert!(raw.refusals().is_empty());
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn memory_of_every_source_is_zero_and_keeps_what_is_written() {
    for source in working() {
        let buffer = allocate(&Dma::from_source(source.clone()), 100_000);
        assert!(buffer.read().unwrap().as_bytes().iter().all(|byte| *byte == 0), "{source:?}");
        buffer.write().unwrap().as_bytes_mut()[77] = 9;
        assert_eq!(buffer.read().unwrap().as_bytes()[77], 9, "{source:?}");
        assert!(buffer.len() >= 100_000);
        assert!(matches!((buffer.read(), buffer.write()), (Ok(_), Err(Error::Busy { .. }))));
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_buffer_that_comes_back_is_known_again() {
    for source in working() {
        let buffer = allocate(&Dma::from_source(source.clone()), 8192);
        let fd = buffer.clone_descriptor().unwrap();
        let same = import(&fd, 8192, Protection::AsAllowed, None).unwrap();
        assert_eq!(same.identity().id(), buffer.identity().id(), "{source:?}");
        assert!(same.aliases(&buffer));
        assert_eq!(same.memory(), TensorMemory::Dma);
        let held = buffer.write().unwrap();
        assert!(same.read().is_err());
        drop(held);
        let pages = std::fs::read_to_string("/proc/self/maps").unwrap().matches("dmabuf").count();
        drop(import(&fd, 0, Protection::AsAllowed, None).unwrap());
        let after = std::fs::read_to_string("/proc/self/maps").unwrap().matches("dmabuf").count();
        assert_eq!(pages, after, "an import of what is known maps nothing");
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_stranger_is_mapped_from_its_descriptor() {
    let stranger = {
        let buffer = allocate(&Dma::new(), 4096);
        buffer.write().unwrap().as_bytes_mut().fill(5);
        buffer.clone_descriptor().unwrap()
    };
    let buffer = import(&stranger, 4096, Protection::AsAllowed, None).unwrap();
    assert!(buffer.read().unwrap().as_bytes().iter().all(|byte| *byte == 5));
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn memory_nobody_maps_is_not_mapped() {
    let request = Request::new(4096).unwrap().with_cpu(CpuAccess::None);
    let raw = Dma::new().allocate(&request).unwrap();
    assert!(!raw.cpu_accessible());
    assert!(matches!(Buffer::from_raw(raw).read(), Err(Error::NotMappable { .. })));
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_pool_reuses_it() {
    let pool = Pool::new(kind::allocator(TensorMemory::Dma).unwrap());
    let first = allocate(&pool, 1 << 20).identity().id();
    assert_eq!(allocate(&pool, 1 << 20).identity().id(), first);
}
