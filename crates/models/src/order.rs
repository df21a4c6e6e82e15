//! An order of nodes in which each comes after what it needs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Node indices so that each comes after its `needs`, and otherwise in the given order.
///
/// # Errors
///
/// A node that needs itself, by way of others.
pub(crate) fn sort(needs: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    if needs.iter().enumerate().all(|(node, needs)| needs.iter().all(|&need| need < node)) {
        return Ok((0..needs.len()).collect());
    }
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (node, needs) in needs.iter().enumerate() {
        for &need in needs {
            if let Some(readers) = readers.get_mut(need) {
                readers.push(node);
            }
        }
    }
    let free = waiting.iter().enumerate().filter(|&(_, &count)| count == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = free.map(|(node, _)| Reverse(node)).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &reader in readers.get(node).map(Vec::as_slice).unwrap_or_default() {
            let Some(count) = waiting.get_mut(reader) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    match waiting.iter().position(|&count| count > 0) {
        Some(stuck) => Err(on_circle(needs, &waiting, stuck)),
        None => Ok(order),
    }
}

/// From a node that waits, back along what it waits for until a node comes up again.
fn on_circle(needs: &[Vec<usize>], waiting: &[usize], stuck: usize) -> usize {
    let mut seen = vec![false; needs.len()];
    let mut node = stuck;
    while let Some(mark) = seen.get_mut(node)
        && !*mark
    {
        *mark = true;
        let waits = |need: &&usize| waiting.get(**need).is_some_and(|&count| count > 0);
        match needs.get(node).and_then(|needs| needs.iter().find(waits)) {
            Some(&need) => node = need,
            None => return node,
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_sorts_and_finds_circles() {
        assert_eq!(sort(&[vec![], vec![0], vec![0, 1]]), Ok(vec![0, 1, 2]));
        assert_eq!(sort(&[vec![2], vec![], vec![1]]), Ok(vec![1, 2, 0]));
        assert_eq!(sort(&[vec![1], vec![2], vec![1], vec![]]), Err(1));
        assert_eq!(sort(&[vec![0]]), Err(0));
        assert_eq!(sort(&[]), Ok(vec![]));
    }
}
