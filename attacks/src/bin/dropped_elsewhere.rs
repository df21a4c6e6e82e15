//! Tensors, views and guards that are made on one thread and used and dropped on others, in every
//! order, while the maker is gone.
#![forbid(unsafe_code)]

use std::sync::mpsc;
use std::thread;

use tenure::memory::{kind, statistics};
use tenure::{Pool, Tensor, TensorMap, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let before = statistics::report().len();
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).expect("the heap"));
    let (send, receive) = mpsc::channel::<(Tensor<u32>, TensorMap<u32>)>();
    let maker = thread::spawn({
        let pool = pool.clone();
        move || {
            for round in 0..200 {
                let tensor = match round % 3 {
                    0 => Tensor::<u32>::builder(&[64]).allocator(&pool).build(),
                    1 => Tensor::<u32>::new(&[64], Some(TensorMemory::Shm), None),
                    _ => Tensor::<u32>::new(&[64], Some(TensorMemory::Mem), None),
                };
                let tensor = tensor.expect("memory");
                let mut map = tensor.map().expect("free");
                map.as_mut_slice().fill(round);
                send.send((tensor, map)).expect("somebody listens");
            }
        }
    });
    let mut kept = vec![];
    for (round, (tensor, mut map)) in (0..).zip(receive) {
        assert_eq!(map.as_slice(), [round; 64]);
        refused!(tensor.map(), memory!(Busy { .. }));
        map.as_mut_slice()[0] += 1;
        let dropper = match round % 4 {
            0 => thread::spawn(move || drop((tensor, map))),
            1 => thread::spawn(move || drop((map, tensor))),
            2 => {
                drop(tensor);
                thread::spawn(move || assert_eq!(map.as_slice()[1], round))
            }
            _ => {
                kept.push(tensor.clone());
                drop(map);
                thread::spawn(move || drop(tensor.map().expect("given back")))
            }
        };
        dropper.join().expect("no panic");
    }
    maker.join().expect("no panic");
    assert_eq!(kept.len(), 50);
    for tensor in &kept {
        drop(tensor.map().expect("everybody else is gone"));
    }
    drop((kept, pool));
    assert_eq!(statistics::report().len(), before, "something was leaked");
}
