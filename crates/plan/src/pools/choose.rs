//! Who of many goes into one pool.

use std::cmp::Reverse;

use super::{Guest, pack};
use crate::{Item, Options, Packing, Problem, ProblemError};

/// So many guests have few enough choices to look at them all.
const MAX_EXACT: usize = 10;

/// Exchanges to try at most, each of which costs a walk over the pool.
const MAX_TRIES: usize = 4096;

/// Guests outside to try to let in, and members to try to exchange for each.
const MAX_OUT: usize = 64;

/// Guests outside to try to let in once more where everybody may move.
const MAX_HOPES: usize = 32;

/// Walks over a pool's buffers that a choice may cost.
const MAX_WALKS: u64 = 200_000_000;

/// Guests and what they take, by the same index.
#[derive(Debug, Clone, Copy)]
struct Crowd<'a> {
    items: &'a [Item],
    guests: &'a [Guest],
}

impl Crowd<'_> {
    fn len(&self) -> usize {
        self.guests.len()
    }

    fn item(&self, guest: u32) -> &Item {
        &self.items[guest as usize]
    }

    fn traffic(&self, guest: u32) -> u64 {
        self.guests[guest as usize].traffic
    }
}

/// Who is in a pool and who is not.
pub(super) struct Filled {
    /// Who is, in the order of the packing.
    pub(super) chosen: Vec<Guest>,
    /// Where.
    pub(super) packing: Packing,
    /// Who is not and what they take, in the order given.
    pub(super) rest: (Vec<Item>, Vec<Guest>),
}

/// Guests that fit into `room` together, and where; `items` are what they take. Of the last pool all
/// are wanted, so there the search for a packing of all gets the whole budget.
///
/// Packing takes most of the memory there is, so what is packed is never there twice.
pub(super) fn fill(
    items: Vec<Item>,
    guests: Vec<Guest>,
    room: u64,
    last: bool,
    options: &Options<'_>,
) -> Result<Filled, ProblemError> {
    let small = Options { work: options.work.min(20_000), ..*options };
    let effort = if last { options } else { &small };
    let all = Problem::new(items)?;
    if let Some(packing) = pack(&all, room, effort) {
        return Ok(Filled { chosen: guests, packing, rest: (Vec::new(), Vec::new()) });
    }
    let items = all.into_items();
    let crowd = Crowd { items: &items, guests: &guests };
    if crowd.len() <= MAX_EXACT {
        let (chosen, packing) = exact(crowd, room, &small)?;
        let out = others(crowd.len(), &chosen);
        let (chosen, rest) = part(guests, &chosen, &out);
        return Ok(Filled { chosen, packing, rest: (part(items, &[], &out).1, rest) });
    }
    let (mut chosen, offsets) = shelf(crowd, room);
    let mut out = others(crowd.len(), &chosen);
    // Those that found no gap may still fit if everybody may move.
    let hopes: Vec<(u32, Item)> = outside(crowd, &out, MAX_HOPES)
        .into_iter()
        .map(|guest| (guest, *crowd.item(guest)))
        .collect();
    let (mut kept, mut left) = part(items, &chosen, &out);
    kept.reserve_exact(hopes.len());
    let mut packing = None;
    for (guest, item) in hopes {
        kept.push(item);
        let problem = Problem::new(kept)?;
        let found = pack(&problem, room, &small);
        kept = problem.into_items();
        if found.is_some() {
            left.remove(out[..guest as usize].iter().filter(|&&out| out).count());
            out[guest as usize] = false;
            chosen.push(guest);
            packing = found;
        } else {
            kept.pop();
        }
    }
    let packing = match packing {
        Some(packing) => packing,
        None => {
            let problem = Problem::new(kept)?;
            pack(&problem, room, options).unwrap_or_else(|| shelved(&problem, offsets))
        }
    };
    let (chosen, rest) = part(guests, &chosen, &out);
    Ok(Filled { chosen, packing, rest: (left, rest) })
}

/// For each of so many guests, whether it is not among the given ones.
fn others(count: usize, chosen: &[u32]) -> Vec<bool> {
    let mut out = vec![true; count];
    chosen.iter().for_each(|&guest| out[guest as usize] = false);
    out
}

/// Of those who are out the first few, those with most traffic first.
fn outside(crowd: Crowd<'_>, out: &[bool], most: usize) -> Vec<u32> {
    let out = (0u32..).zip(out).filter(|(_, out)| **out);
    let mut guests: Vec<u32> = out.map(|(guest, _)| guest).collect();
    guests.sort_unstable_by_key(|&guest| (Reverse(crowd.traffic(guest)), guest));
    guests.truncate(most);
    guests.shrink_to_fit();
    guests
}

/// What is of the chosen ones, in their order, and of those who are out in theirs.
fn part<T: Copy>(mut all: Vec<T>, chosen: &[u32], out: &[bool]) -> (Vec<T>, Vec<T>) {
    let kept = chosen.iter().map(|&guest| all[guest as usize]).collect();
    let mut out = out.iter();
    all.retain(|_| out.next() == Some(&true));
    all.shrink_to_fit();
    (kept, all)
}

/// Of few guests all choices are looked at, those with most traffic first.
fn exact(
    crowd: Crowd<'_>,
    room: u64,
    options: &Options<'_>,
) -> Result<(Vec<u32>, Packing), ProblemError> {
    let members = |set: u32| (0..crowd.len() as u32).filter(move |guest| set >> guest & 1 == 1);
    let mut sets: Vec<u32> = (1..1 << crowd.len()).collect();
    sets.sort_by_cached_key(|&set| {
        let traffic = members(set).map(|guest| crowd.traffic(guest));
        Reverse(traffic.fold(0, u64::saturating_add))
    });
    for set in sets {
        let problem = Problem::new(members(set).map(|guest| *crowd.item(guest)).collect())?;
        if let Some(packing) = pack(&problem, room, options) {
            return Ok((members(set).collect(), packing));
        }
    }
    Ok((Vec::new(), shelved(&Problem::new(Vec::new())?, Vec::new())))
}

/// The offsets of a shelf, if no better ones are found.
fn shelved(problem: &Problem, offsets: Vec<u64>) -> Packing {
    crate::pack::verified(problem, offsets, crate::lower_bound(problem))
}

/// Who goes onto a shelf, and where: the best of several orders, improved by exchanging guests.
fn shelf(crowd: Crowd<'_>, room: u64) -> (Vec<u32>, Vec<u64>) {
    let mut best = Shelf::default();
    for cost in COSTS {
        let mut order: Vec<u32> = (0..crowd.len() as u32).collect();
        let worth = |guest: u32| {
            u128::from(crowd.traffic(guest)) * (1 << 32) / cost(crowd.item(guest)).max(1)
        };
        order.sort_unstable_by_key(|&guest| (Reverse(worth(guest)), guest));
        let mut shelf = Shelf::default();
        for guest in order {
            shelf.put(crowd, guest, room);
        }
        if shelf.traffic > best.traffic || best.members.is_empty() {
            best = shelf;
        }
    }
    exchange(crowd, room, &mut best);
    best.members.into_iter().map(|(offset, guest)| (guest, offset)).unzip()
}

/// What traffic is divided by for worth: nothing, bytes, and bytes times time.
const COSTS: [fn(&Item) -> u128; 3] = [
    |_| 1,
    |item| u128::from(item.size),
    |item| u128::from(item.size) * u128::from(item.upper - item.lower).min(1 << 40),
];

/// Guests at offsets, the lowest first.
#[derive(Debug, Default, Clone)]
struct Shelf {
    members: Vec<(u64, u32)>,
    traffic: u64,
    walks: u64,
}

impl Shelf {
    /// Puts a guest into the lowest gap below `room`, if there is one.
    fn put(&mut self, crowd: Crowd<'_>, guest: u32, room: u64) -> bool {
        let item = crowd.item(guest);
        self.walks += self.members.len() as u64;
        if self.walks > MAX_WALKS {
            return false;
        }
        let mut at = 0u64;
        if item.size > 0 {
            for &(offset, other) in &self.members {
                let other = crowd.item(other);
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
            self.traffic = self.traffic.saturating_add(crowd.traffic(guest));
        }
        fits
    }

    fn remove(&mut self, crowd: Crowd<'_>, leave: &[u32]) {
        self.members.retain(|(_, member)| !leave.contains(member));
        let sum = self.members.iter().map(|&(_, member)| crowd.traffic(member));
        self.traffic = sum.fold(0, u64::saturating_add);
    }
}

/// Lets someone from outside in, for one member that is in the way or for all of them, and fills
/// up again, as long as that raises the traffic.
fn exchange(crowd: Crowd<'_>, room: u64, best: &mut Shelf) {
    let mut tries = 0;
    let mut again = true;
    while again {
        again = false;
        let members: Vec<u32> = best.members.iter().map(|&(_, member)| member).collect();
        let out = outside(crowd, &others(crowd.len(), &members), MAX_OUT);
        'outside: for &guest in &out {
            let mut rivals = members.clone();
            rivals.retain(|&member| crowd.item(member).meets(crowd.item(guest)));
            rivals.sort_unstable_by_key(|&member| (crowd.traffic(member), member));
            rivals.truncate(4 * MAX_OUT);
            let one = rivals.iter().take(MAX_OUT).map(std::slice::from_ref);
            for leave in one.chain([rivals.as_slice()]) {
                tries += 1;
                if tries > MAX_TRIES || best.walks > MAX_WALKS {
                    return;
                }
                let mut shelf = best.clone();
                shelf.remove(crowd, leave);
                if shelf.put(crowd, guest, room) {
                    let others = out.iter().filter(|&&other| other != guest);
                    for &other in others.chain(leave.iter().rev()) {
                        shelf.put(crowd, other, room);
                    }
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
