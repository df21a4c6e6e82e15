//! A machine without room for shared memory says so when it is asked, not with a signal later.
#![cfg(all(linux_like, not(miri)))]
#![cfg_attr(target_pointer_width = "64", expect(unsafe_code, reason = "a signal to ignore"))]

use std::fs;

use tenure_memory::kind::shm::{Shm, remove_named};
use tenure_memory::{Allocator, Buffer, Error, Pool, Request};

#[path = "common/child.rs"]
mod child;
#[path = "common/fork.rs"]
mod fork;
#[path = "common/limits.rs"]
mod limits;
#[path = "common/small_shm.rs"]
mod small_shm;

use small_shm::with_small_shm;

fn names() -> usize {
    fs::read_dir("/dev/shm").unwrap().count()
}

fn named(name: &str, bytes: usize) -> tenure_memory::Result<Buffer> {
    Ok(Buffer::from_raw(Shm::named(name).allocate(&Request::new(bytes)?)?))
}

#[test]
fn a_full_dev_shm_is_an_error_at_allocation() {
    with_small_shm("a_full_dev_shm_is_an_error_at_allocation", || {
        for bytes in [2 << 20, (1 << 20) + 1, 8_294_400, 3_000_000] {
            let error = named("/too-large", bytes).unwrap_err();
            match &error {
                Error::OutOfMemory(full) => {
                    assert_eq!(full.bytes, bytes);
                    let source = full.source.as_ref().unwrap();
                    assert_eq!(source.raw_os_error(), Some(libc::ENOSPC));
                }
                other => panic!("{other:?}"),
            }
            assert!(error.to_string().contains(&bytes.to_string()), "{error}");
            assert_eq!(names(), 0, "no name is left behind");
        }
        // All of it can be had, and is there when it is touched.
        let all = named("/all", 1 << 20).unwrap();
        all.write().unwrap().as_bytes_mut().fill(7);
        assert!(named("/more", 1).is_err());
        assert_eq!(names(), 1);
        assert!(all.read().unwrap().as_bytes().iter().all(|byte| *byte == 7));
        drop(all);
        remove_named("/all").unwrap();
        named("/more", 1 << 20).unwrap();
    });
}

#[test]
fn memory_files_do_not_need_dev_shm() {
    with_small_shm("memory_files_do_not_need_dev_shm", || {
        let raw = Shm::new().allocate(&Request::new(8 << 20).unwrap()).unwrap();
        Buffer::from_raw(raw).write().unwrap().as_bytes_mut().fill(1);
        assert_eq!(names(), 0);
    });
}

#[test]
fn a_pool_says_so_too() {
    with_small_shm("a_pool_says_so_too", || {
        let pool = Pool::over(std::sync::Arc::new(Shm::named("/pooled")), Default::default());
        let error = pool.allocate(&Request::new(2 << 20).unwrap()).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
        let report = pool.report();
        assert_eq!((report.used, report.used_bytes, report.misses), (0, 0, 0));
    });
}

#[test]
#[cfg(target_pointer_width = "64")]
fn more_than_the_machine_has_is_refused_with_what_it_has() {
    child::alone("more_than_the_machine_has_is_refused_with_what_it_has", || {
        // Should it not be asked, the kernel refuses here instead of killing somebody.
        // SAFETY: a signal of this process to ignore.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limits::limit(rustix::process::Resource::Fsize, Some(1 << 30));
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let line = text.lines().find(|line| line.starts_with("MemTotal:")).unwrap();
        let total = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
        let bytes = usize::try_from(total).unwrap().next_multiple_of(2 << 20);
        let error = Shm::new().allocate(&Request::new(bytes).unwrap()).unwrap_err();
        let Error::OutOfMemory(full) = &error else { panic!("{error:?}") };
        assert_eq!(full.bytes, bytes);
        let available = full.available.unwrap();
        assert!(available > 0 && available < total);
        let words = error.to_string();
        assert!(words.contains(&format!("{available} bytes are available")), "{words}");
    });
}
