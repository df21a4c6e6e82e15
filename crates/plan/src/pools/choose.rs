//! Who of many goes into one pool.

use std::cmp::Reverse;

use super::{Guest, pack};
use crate::{Item, Options, Packing, Problem, ProblemError};

/// Exchanges to try at most, each of which costs a walk over the pool.
const MAX_TRIES: usize = 4096;

/// Walks over a pool's buffers that a choice may cost.
const MAX_WALKS: u64 = 200_000_000;

/// Guests that fit into `room` together, by index, and where. Of the last pool all are wanted, so
/// there the search for a packing of all gets the whole budget.
pub(super) fn fill(
    guests: &[Guest],
    room: u64,
    last: bool,
    options: &Options<'_>,
) -> Result<(Vec<usize>, Packing), ProblemError> {
    let all: Vec<Item> = guests.iter().map(|guest| guest.item).collect();
    let small = Options { work: options.work.min(20_000), ..*options };
    let effort = if last { options } else { &small };
    if let Some(packing) = pack(all, room, effort)? {
        return Ok(((0..guests.len()).collect(), packing));
    }
    let mut best = Shelf::default();
    for order in orders(guests) {
        let mut shelf = Shelf::default();
        for guest in order {
            shelf.put(guests, guest, room);
        }
        if shelf.traffic > best.traffic || best.members.is_empty() {
            best = shelf;
        }
    }
    exchange(guests, room, &mut best);
    // Those that found no gap may still fit if everybody may move.
    let mut packing = None;
    let mut out: Vec<usize> = (0..guests.len()).filter(|&guest| !best.holds(guest)).collect();
    out.sort_by_key(|&guest| (Reverse(guests[guest].traffic), guest));
    for guest in out.into_iter().take(32) {
        let mut items: Vec<Item> = best.members.iter().map(|&(_, at)| guests[at].item).collect();
        items.push(guests[guest].item);
        if let Some(found) = pack(items, room, &small)? {
            best.members.push((0, guest));
            packing = Some(found);
        }
    }
    let chosen: Vec<usize> = best.members.iter().map(|&(_, guest)| guest).collect();
    let packing = match packing {
        Some(packing) => packing,
        None => {
            let items: Vec<Item> = chosen.iter().map(|&guest| guests[guest].item).collect();
            match pack(items.clone(), room, options)? {
                Some(packing) => packing,
                None => shelved(items, best.members.iter().map(|&(offset, _)| offset).collect())?,
            }
        }
    };
    Ok((chosen, packing))
}

/// The offsets of a shelf, if no better ones are found.
fn shelved(items: Vec<Item>, offsets: Vec<u64>) -> Result<Packing, ProblemError> {
    let problem = Problem::new(items)?;
    let bound = crate::lower_bound(&problem);
    Ok(crate::pack::verified(&problem, offsets, bound))
}

/// Orders of worth: all traffic, traffic per byte, and traffic per byte and time.
fn orders(guests: &[Guest]) -> [Vec<usize>; 3] {
    let order = |cost: &dyn Fn(&Item) -> u128| {
        let mut order: Vec<usize> = (0..guests.len()).collect();
        let worth =
            |guest: &Guest| u128::from(guest.traffic) * (1 << 32) / cost(&guest.item).max(1);
        order.sort_by_key(|&guest| (Reverse(worth(&guests[guest])), guest));
        order
    };
    let life = |item: &Item| u128::from(item.upper - item.lower).min(1 << 40);
    [
        order(&|_| 1),
        order(&|item| u128::from(item.size)),
        order(&|item| u128::from(item.size) * life(item)),
    ]
}

/// Guests at offsets, the lowest first.
#[derive(Debug, Default, Clone)]
struct Shelf {
    members: Vec<(u64, usize)>,
    traffic: u64,
    walks: u64,
}

impl Shelf {
    fn holds(&self, guest: usize) -> bool {
        self.members.iter().any(|&(_, member)| member == guest)
    }

    /// Puts a guest into the lowest gap below `room`, if there is one.
    fn put(&mut self, guests: &[Guest], guest: usize, room: u64) -> bool {
        let item = &guests[guest].item;
        self.walks += self.members.len() as u64;
        if self.walks > MAX_WALKS {
            return false;
        }
        let mut at = 0u64;
        if item.size > 0 {
            for &(offset, other) in &self.members {
                let other = &guests[other].item;
                if other.size == 0 || !other.meets(item) {
                    continue;
                }
                if offset >= at + item.size {
                    break;
                }
                // Sizes and alignments of a schedule sum to less than i64::MAX.
                at = at.max(offset + other.size).next_multiple_of(item.align);
            }
        }
        let fits = at + item.size <= room;
        if fits {
            let rank = self.members.partition_point(|&member| member < (at, guest));
            self.members.insert(rank, (at, guest));
            self.traffic = self.traffic.saturating_add(guests[guest].traffic);
        }
        fits
    }

    fn remove(&mut self, guests: &[Guest], guest: usize) {
        self.members.retain(|&(_, member)| member != guest);
        self.traffic -= guests[guest].traffic.min(self.traffic);
    }
}

/// Exchanges a member for one outside as long as that raises the traffic.
fn exchange(guests: &[Guest], room: u64, best: &mut Shelf) {
    let mut tries = 0;
    let mut again = true;
    while again {
        again = false;
        let mut out: Vec<usize> = (0..guests.len()).filter(|&guest| !best.holds(guest)).collect();
        out.sort_by_key(|&guest| (Reverse(guests[guest].traffic), guest));
        'outside: for &guest in out.iter().take(64) {
            let mut members: Vec<usize> = best.members.iter().map(|&(_, member)| member).collect();
            members.retain(|&member| guests[member].item.meets(&guests[guest].item));
            members.sort_by_key(|&member| (guests[member].traffic, member));
            for member in members.into_iter().take(64) {
                tries += 1;
                if tries > MAX_TRIES || best.walks > MAX_WALKS {
                    return;
                }
                let mut shelf = best.clone();
                shelf.remove(guests, member);
                if shelf.put(guests, guest, room) {
                    for &other in out.iter().take(64).filter(|&&other| other != guest) {
                        shelf.put(guests, other, room);
                    }
                    shelf.put(guests, member, room);
                }
                best.walks = shelf.walks;
                if shelf.traffic > best.traffic {
                    *best = shelf;
                    again = true;
                    break 'outside;
                }
            }
        }
    }
}
