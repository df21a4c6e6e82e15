//! Tensors and their guards on many threads.

use std::sync::Arc;
use std::thread;

use tenure_memory::kind::mem::Mem;
use tenure_tensor::{
    Bool, PixelFormat, StridedMap, StridedRead, Tensor, TensorDyn, TensorMap, TensorMemory,
    TensorRead,
};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);
const THREADS: usize = if cfg!(miri) { 2 } else { 8 };
const ROUNDS: usize = if cfg!(miri) { 5 } else { 500 };

#[test]
fn everything_is_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Tensor<f32>>();
    check::<TensorDyn>();
    check::<TensorMap<f32>>();
    check::<TensorRead<u8>>();
    check::<StridedMap<Bool>>();
    check::<StridedRead<f32>>();
    check::<tenure_tensor::Error>();
    check::<tenure_tensor::Pool>();
    check::<tenure_tensor::Buffer>();
}

#[test]
fn readers_on_every_thread() {
    let t = Tensor::from_slice(&(0..1000).collect::<Vec<u32>>(), &[1000]).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let map = t.map_read().unwrap();
                    assert_eq!((map.as_slice()[0], map.as_slice()[999]), (0, 999));
                }
            });
        }
    });
    drop(t.map().unwrap());
}

#[test]
fn a_row_for_every_thread() {
    let t = Tensor::<u32>::new(&[THREADS, 100], MEM, None).unwrap();
    thread::scope(|scope| {
        for n in 0..THREADS {
            let row = t.index(0, n).unwrap();
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut map = row.map().unwrap();
                    map.as_mut_slice().fill((n * 1000 + round) as u32);
                }
            });
        }
    });
    let map = t.map_read().unwrap();
    for n in 0..THREADS {
        let row = &map.as_slice()[n * 100..(n + 1) * 100];
        assert!(row.iter().all(|value| *value as usize == n * 1000 + ROUNDS - 1));
    }
}

#[test]
fn of_those_who_want_to_write_one_does() {
    let t = Tensor::<u64>::new(&[64], MEM, None).unwrap();
    let written: u64 = thread::scope(|scope| {
        let all: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut written = 0;
                    while written < ROUNDS as u64 {
                        match t.map() {
                            Ok(mut map) => {
                                // Torn if somebody else were here too.
                                map.as_mut_slice().iter_mut().for_each(|value| *value += 1);
                                written += 1;
                            }
                            Err(error) => assert!(error.to_string().contains("held for")),
                        }
                        thread::yield_now();
                    }
                    written
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(written, (THREADS * ROUNDS) as u64);
    assert!(t.map_read().unwrap().as_slice().iter().all(|value| *value == written));
}

#[test]
fn planes_are_written_at_once() {
    let frame = Tensor::<u8>::image(16, 16, PixelFormat::I420, MEM, None).unwrap();
    let planes: Vec<_> = (0..3).map(|plane| frame.plane(plane).unwrap()).collect();
    thread::scope(|scope| {
        for (n, plane) in planes.iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    plane.map().unwrap().as_mut_slice().fill(n as u8 + 1);
                }
            });
        }
    });
    let mut flat = vec![0; frame.flat_bytes()];
    frame.copy_to_flat(&mut flat).unwrap();
    assert_eq!(flat, [vec![1; 256], vec![2; 64], vec![3; 64]].concat());
}

#[test]
fn tensors_are_dropped_where_nobody_expects_it() {
    let t = Tensor::<u8>::new(&[1000], MEM, None).unwrap();
    let weak = t.buffer_identity().weak();
    let map = t.map().unwrap();
    let other = thread::spawn(move || {
        drop(t);
        map
    });
    drop(other.join().unwrap());
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_lazy_tensor_is_allocated_once() {
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let t = Tensor::<u8>::builder(&[100]).allocator(&Arc::new(Mem)).lazy().build().unwrap();
        assert!(!t.buffer().is_placed());
        let addresses: Vec<usize> = thread::scope(|scope| {
            let all: Vec<_> = (0..THREADS)
                .map(|_| scope.spawn(|| t.map_read().unwrap().as_slice().as_ptr().addr()))
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(addresses.iter().all(|address| *address == addresses[0]));
    }
}
