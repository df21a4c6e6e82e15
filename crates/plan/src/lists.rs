//! Many short lists of numbers in few pieces of memory. A list of its own for each buffer would
//! take forty bytes and more before there is anything in it.

/// No node.
const NONE: u32 = u32::MAX;

/// Lists that are made once, one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    all: Vec<u32>,
    /// Where each list starts, and the end of the last.
    start: Vec<u32>,
}

impl Lists {
    /// `count` lists of what `visit` finds: a list and a number at a time, in their order. It is
    /// asked twice, and has to find the same.
    pub(crate) fn new(count: usize, mut visit: impl FnMut(&mut dyn FnMut(usize, u32))) -> Lists {
        // While a list is filled, its end is where the next number goes: so all are one too far,
        // and right when the one before is full.
        let mut start = vec![0u32; count + 2];
        visit(&mut |list, _| start[list + 2] += 1);
        for list in 0..count {
            start[list + 2] += start[list + 1];
        }
        let mut all = vec![0; start[count + 1] as usize];
        visit(&mut |list, number| {
            all[start[list + 1] as usize] = number;
            start[list + 1] += 1;
        });
        start.pop();
        Lists { all, start }
    }

    /// The second numbers of pairs by their first, which are below `count`.
    pub(crate) fn of_pairs(count: usize, mut pairs: Vec<(u32, u32)>) -> Lists {
        pairs.sort_unstable();
        pairs.dedup();
        let mut start = vec![0u32; count + 1];
        for &(list, _) in &pairs {
            start[list as usize + 1] += 1;
        }
        for list in 0..count {
            start[list + 1] += start[list];
        }
        Lists { all: pairs.into_iter().map(|(_, number)| number).collect(), start }
    }

    /// For each number, which lists it is in, as lists of the same count.
    pub(crate) fn inverted(&self) -> Lists {
        Lists::new(self.len(), |found| {
            for list in 0..self.len() {
                self.of(list).iter().for_each(|&number| found(number as usize, list as u32));
            }
        })
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// One of the lists.
    pub(crate) fn of(&self, list: usize) -> &[u32] {
        &self.all[self.start[list] as usize..self.start[list + 1] as usize]
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|list| self.of(list))
    }
}

/// Lists that grow by one number at a time and are emptied as a whole. The last number comes first.
#[derive(Debug, Clone)]
pub(crate) struct Chains {
    /// The first node of each list.
    first: Vec<u32>,
    /// A number and the next node.
    nodes: Vec<(u32, u32)>,
    /// The first node that is in no list.
    free: u32,
}

impl Chains {
    /// So many empty lists.
    pub(crate) fn new(count: usize) -> Chains {
        Chains { first: vec![NONE; count], nodes: Vec::new(), free: NONE }
    }

    /// The numbers of a list.
    pub(crate) fn of(&self, list: usize) -> impl Iterator<Item = u32> {
        let node = |at: u32| self.nodes.get(at as usize).copied();
        std::iter::successors(node(self.first[list]), move |&(_, next)| node(next))
            .map(|(number, _)| number)
    }

    /// Puts a number in the place of the one that `like` finds, or else into the list.
    pub(crate) fn put(&mut self, list: usize, number: u32, like: impl Fn(u32) -> bool) {
        let mut at = self.first[list];
        while let Some((other, next)) = self.nodes.get_mut(at as usize) {
            if like(*other) {
                *other = number;
                return;
            }
            at = *next;
        }
        self.push(list, number);
    }

    /// Puts a number into a list.
    pub(crate) fn push(&mut self, list: usize, number: u32) {
        let node = (number, self.first[list]);
        self.first[list] = match self.nodes.get_mut(self.free as usize) {
            Some(unused) => {
                let at = std::mem::replace(&mut self.free, unused.1);
                *unused = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
    }

    /// Empties a list.
    pub(crate) fn clear(&mut self, list: usize) {
        let mut at = std::mem::replace(&mut self.first[list], NONE);
        while let Some((_, next)) = self.nodes.get_mut(at as usize) {
            let rest = std::mem::replace(next, self.free);
            self.free = at;
            at = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_have_what_was_found() {
        let found = [(2, 5), (0, 1), (2, 3), (2, 5)];
        let lists = Lists::new(4, |add| found.iter().for_each(|&(list, number)| add(list, number)));
        let all: Vec<&[u32]> = lists.iter().collect();
        assert_eq!(all, [&[1][..], &[], &[5, 3, 5], &[]]);
        assert_eq!((lists.len(), Lists::default().len()), (4, 0));
        assert_eq!(Lists::new(0, |_| ()).len(), 0);
        let pairs = Lists::of_pairs(3, vec![(2, 1), (0, 2), (2, 0), (2, 1)]);
        assert_eq!(pairs.iter().collect::<Vec<_>>(), [&[2][..], &[], &[0, 1]]);
        let inverted = pairs.inverted();
        assert_eq!(inverted.iter().collect::<Vec<_>>(), [&[2][..], &[2], &[0]]);
    }

    proptest! {
        #[test]
        fn chains_are_lists(calls in proptest::collection::vec((0usize..3, 0u32..8, 0u8..3), 0..40)) {
            let mut chains = Chains::new(3);
            let mut model: [Vec<u32>; 3] = Default::default();
            for (list, number, call) in calls {
                match call {
                    0 => {
                        chains.push(list, number);
                        model[list].insert(0, number);
                    }
                    1 => {
                        chains.put(list, number, |other| other % 2 == number % 2);
                        match model[list].iter_mut().find(|other| **other % 2 == number % 2) {
                            Some(other) => *other = number,
                            None => model[list].insert(0, number),
                        }
                    }
                    _ => {
                        chains.clear(list);
                        model[list].clear();
                    }
                }
                for (list, numbers) in model.iter().enumerate() {
                    prop_assert_eq!(&chains.of(list).collect::<Vec<_>>(), numbers);
                }
            }
            // Nodes are used again.
            prop_assert!(chains.nodes.len() <= 40);
        }
    }
}
