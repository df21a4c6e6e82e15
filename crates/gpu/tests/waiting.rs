//! Maps while a copy is under way: refused at once, or made to wait, as asked.
#![cfg(linux_like)]

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use common::{numbers, quick, values};
use tenure_memory::TensorMemory::{Device, Mem, Pinned};
use tenure_tensor::Tensor;

#[path = "common/devices.rs"]
mod common;

const SOON: Option<Duration> = Some(Duration::from_millis(20));

fn is_busy<T>(answer: tenure_tensor::Result<T>) -> bool {
    matches!(answer.err(), Some(tenure_tensor::Error::Memory(error)) if error.is_busy())
}

#[test]
fn a_map_waits_for_the_copy_that_fills_it() {
    let (device, gpu) = quick();
    for memory in [Mem, Pinned] {
        let there = gpu.to(&numbers(&[1000]), Device).unwrap();
        let back = gpu.to(&Tensor::<u16>::new(&[1000], None, None).unwrap(), memory).unwrap();
        device.pause();
        let fence = back.copy_from_later(&there).unwrap();
        // Refused at once; after some time; and not at all.
        assert!(is_busy(back.map_read()));
        let start = Instant::now();
        assert!(is_busy(back.map_read_wait(SOON)) && start.elapsed() >= SOON.unwrap());
        assert!(is_busy(back.map_wait(SOON)));
        assert!(is_busy(back.map_wait(Some(Duration::ZERO))));
        let waiter = {
            let back = back.clone();
            thread::spawn(move || back.map_read_wait(None).unwrap().as_slice().to_vec())
        };
        thread::sleep(Duration::from_millis(10));
        assert!(!waiter.is_finished());
        device.resume();
        assert_eq!(waiter.join().unwrap(), values(&numbers(&[1000])));
        assert!(fence.wait(None).unwrap());
        // With nobody in the way nobody waits.
        back.map_wait(Some(Duration::ZERO)).unwrap().as_mut_slice()[0] = 1;
    }
}

#[test]
fn whoever_waits_is_woken_when_the_device_is_lost() {
    let (device, gpu) = quick();
    let there = gpu.to(&numbers(&[1000]), Device).unwrap();
    let back = Tensor::<u16>::new(&[1000], Some(Mem), None).unwrap();
    device.pause();
    let fence = back.copy_from_later(&there).unwrap();
    let waiter = {
        let back = back.clone();
        thread::spawn(move || back.map_wait(None).map(|map| map.as_slice().len()))
    };
    thread::sleep(Duration::from_millis(10));
    device.lose();
    assert_eq!(waiter.join().unwrap().unwrap(), 1000);
    assert!(fence.wait(None).is_err());
}

#[test]
fn guards_of_other_threads_are_waited_for_too() {
    let tensor = Tensor::<u16>::new(&[64], Some(Mem), None).unwrap();
    let first = tensor.map().unwrap();
    let (told, tell) = channel();
    let waiters: Vec<_> = (0..4)
        .map(|n| {
            let (tensor, told) = (tensor.clone(), told.clone());
            thread::spawn(move || {
                let mut map = tensor.map_wait(None).unwrap();
                map.as_mut_slice()[n] += 1;
                told.send(n).unwrap();
            })
        })
        .collect();
    assert!(tell.recv_timeout(Duration::from_millis(20)).is_err());
    drop(first);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert_eq!(tell.try_iter().count(), 4);
    assert_eq!(tensor.map_read().unwrap().as_slice()[..5], [1, 1, 1, 1, 0]);
    assert_eq!(tensor.buffer().raw().unwrap().held(), 0);
}

#[test]
fn there_is_no_waiting_for_an_address_that_will_never_be() {
    let (_device, gpu) = quick();
    let there = gpu.to(&numbers(&[10]), Device).unwrap();
    let words = there.map_wait(None).unwrap_err().to_string();
    assert!(words.contains("to(Some(TensorMemory::Mem))"), "{words}");
}

#[test]
fn the_device_goes_with_its_last_user() {
    // Whoever waited for a copy decides when the device goes, and in which thread: one that went on
    // by itself would meet the end of the process.
    for round in 0..300 {
        let (device, gpu) = quick();
        let there = gpu.to(&numbers(&[16]), Device).unwrap();
        let back = Tensor::<u16>::new(&[16], Some(Mem), None).unwrap();
        let fence = back.copy_from_later(&there).unwrap();
        assert!(fence.wait(None).unwrap());
        drop((gpu, there, back, fence));
        assert_eq!(device.allocated(), (0, 0), "round {round}");
    }
}
