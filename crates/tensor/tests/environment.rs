//! The automatic choice of memory, and the variables that change it.
#![cfg(all(linux_like, not(miri)))]

use tenure_tensor::{Tensor, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;

/// The memory that is chosen in a process with this variable set.
fn chosen_with(test: &str, name: &str, value: &str) -> String {
    let output = child::command(test, "choose").env(name, value).output().unwrap();
    child::succeeded(&output);
    let words = child::words(&output).0;
    words.lines().find_map(|line| line.split_once("chosen: ")).unwrap().1.to_owned()
}

/// Plays the part of such a process, if this is one.
fn is_chooser() -> bool {
    if child::part().is_none() {
        return false;
    }
    let t = Tensor::<u8>::new(&[100], None, None).unwrap();
    println!("chosen: {} after {}", t.memory(), t.refusals().len());
    // What is asked for by name is not changed by anything.
    let shm = Tensor::<u8>::new(&[100], Some(TensorMemory::Shm), None).unwrap();
    assert_eq!(shm.memory(), TensorMemory::Shm);
    true
}

#[test]
fn the_heap_is_forced() {
    if is_chooser() {
        return;
    }
    for name in ["TENURE_FORCE_MEM", "EDGEFIRST_TENSOR_FORCE_MEM"] {
        for value in ["1", "true", "TRUE", "True"] {
            assert_eq!(
                chosen_with("the_heap_is_forced", name, value),
                "mem after 0",
                "{name}={value}"
            );
        }
    }
}

#[test]
fn other_values_force_nothing() {
    if is_chooser() {
        return;
    }
    let test = "other_values_force_nothing";
    let usual = chosen_with(test, "TENURE_UNRELATED", "1");
    assert!(usual.starts_with("shm after 1") || usual.starts_with("dma after 0"), "{usual}");
    for name in ["TENURE_FORCE_MEM", "EDGEFIRST_TENSOR_FORCE_MEM"] {
        for value in ["", "0", "false", "yes", "11", "1 ", "mem"] {
            assert_eq!(chosen_with(test, name, value), usual, "{name}={value}");
        }
    }
}

#[test]
fn refusals_are_kept() {
    child::alone("refusals_are_kept", || {
        let t = Tensor::<u8>::new(&[100], None, None).unwrap();
        if t.memory() == TensorMemory::Dma {
            return;
        }
        let refusal = &t.refusals()[0];
        assert_eq!(refusal.memory, TensorMemory::Dma);
        assert!(refusal.error.to_string().contains("dma_heap"), "{}", refusal.error);
        // They are those of the choice: handles and views know them too.
        assert_eq!(t.slice(0, 0..10).unwrap().refusals().len(), t.refusals().len());
        assert_eq!(t.clone().refusals().len(), t.refusals().len());
    });
}
