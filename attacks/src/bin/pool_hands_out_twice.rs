//! Getting a buffer from a pool that somebody still uses: behind a guard, behind a leaked guard,
//! behind a descriptor that was lent or only looked at, or by two threads at once.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::thread;

use tenure::memory::kind;
use tenure::{Pool, Tensor, TensorMemory};

const SIZE: usize = 4096;

fn main() {
    let of = |memory| Pool::new(kind::allocator(memory).expect("this memory is everywhere"));
    for memory in [TensorMemory::Mem, TensorMemory::Shm] {
        let pool = of(memory);
        let get = || Tensor::<u8>::builder(&[SIZE]).allocator(&pool).build().expect("memory");
        let (guarded, leaked, viewed) = (get(), get(), get());
        guarded.fill(1).expect("free");
        let guard = guarded.map_read().expect("free");
        std::mem::forget(leaked.map().expect("free"));
        let view = viewed.slice(0, 7..8).expect("inside");
        let used: HashSet<u64> =
            [&guarded, &leaked, &viewed].map(|tensor| tensor.buffer_identity().id()).into();
        drop((guarded, leaked, viewed));
        let next: Vec<_> = (0..8).map(|_| get()).collect();
        for tensor in &next {
            assert!(!used.contains(&tensor.buffer_identity().id()), "{memory}: handed out in use");
            tensor.fill(99).expect("free");
        }
        assert_eq!((guard.as_slice(), view.len()), (&[1; SIZE][..], 1));
    }

    // Three ways to a descriptor; whoever has one may hold the bytes for ever.
    let pool = of(TensorMemory::Shm);
    let get = || Tensor::<u8>::builder(&[SIZE]).allocator(&pool).build().expect("memory");
    let (cloned, lent, looked_at) = (get(), get(), get());
    let raw = looked_at.buffer().raw().expect("placed").descriptor().expect("it has one");
    let files = [
        cloned.clone_fd().expect("it has one"),
        lent.buffer().lend_descriptor().expect("it has one").try_clone_to_owned().expect("room"),
        raw.try_clone_to_owned().expect("room"),
    ]
    .map(File::from);
    drop((cloned, lent, looked_at));
    let next: Vec<_> = (0..4).map(|_| get()).collect();
    files.iter().for_each(|file| file.write_all_at(&[66; SIZE], 0).expect("still there"));
    for tensor in &next {
        let read = tensor.map_read().expect("free");
        assert!(!read.as_slice().contains(&66), "the pool handed out memory that others can write");
    }

    let (pool, in_use) = (of(TensorMemory::Mem), Mutex::new(HashSet::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let tensor =
                        Tensor::<u8>::builder(&[SIZE]).allocator(&pool).build().expect("memory");
                    let id = tensor.buffer_identity().id();
                    let fresh = in_use.lock().map(|mut all| all.insert(id));
                    assert!(fresh.expect("no panic"), "handed out twice");
                    tensor.map().expect("nobody else has it").as_mut_slice()[0] = 1;
                    in_use.lock().expect("no panic").remove(&id);
                }
            });
        }
    });
    assert_eq!(pool.report().used, 0);
}
