//! The entries of a ledger, searchable for overlap in logarithmic time.
//!
//! One treap per access: a binary search tree by first byte, kept balanced by random priorities,
//! in which every node knows the largest end below it. Nodes are in one vector and are named by
//! their place in it, so that a receipt is a number and nothing moves.
//!
//! Rows with gaps are in the tree by their span. A search goes on after one whose span overlaps and
//! whose rows do not, so it takes a step for each of those: among the tiles of one image, those
//! beside the tile asked for.

use super::{Access, Entry};
use crate::Rows;

/// No node.
const NONE: u32 = u32::MAX;

/// Above this many nodes the vector is given back once the last entry is gone.
const KEEP: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Node {
    rows: Rows,
    /// The largest end in this subtree; empty ranges count as 0, because they overlap nothing.
    max_end: usize,
    /// For a vacant node: the next vacant one.
    left: u32,
    right: u32,
    /// Parents have larger ones.
    priority: u32,
    /// `None` for a vacant node.
    access: Option<Access>,
}

impl Node {
    /// The end that searches see.
    fn reach(&self) -> usize {
        if self.rows.is_empty() { 0 } else { self.rows.span().end }
    }
}

/// Entries by the number on their receipt.
#[derive(Debug)]
pub(super) struct Entries {
    nodes: Vec<Node>,
    /// The tree of each access, by its number.
    roots: [u32; Access::ALL.len()],
    vacant: u32,
    len: usize,
    /// State of the generator of priorities; never zero.
    seed: u32,
}

impl Default for Entries {
    fn default() -> Entries {
        let roots = [NONE; Access::ALL.len()];
        Entries { nodes: Vec::new(), roots, vacant: NONE, len: 0, seed: 0x9e37_79b9 }
    }
}

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether some entry is for this access.
    pub(super) fn has(&self, access: Access) -> bool {
        self.roots[access as usize] != NONE
    }

    /// The first entry that overlaps `rows` in a way that excludes `access`.
    pub(super) fn conflict(&self, access: Access, rows: &Rows) -> Option<Entry> {
        if rows.is_empty() {
            return None;
        }
        let others = Access::ALL.into_iter().zip(self.roots);
        let mut excluded = others.filter(|(other, root)| *root != NONE && access.excludes(*other));
        excluded.find_map(|(access, root)| {
            let node = self.node(self.first_overlap(root, rows)?);
            Some(Entry { access, range: node.rows.span() })
        })
    }

    /// The node with the smallest start that overlaps rows of at least one byte.
    fn first_overlap(&self, root: u32, rows: &Rows) -> Option<u32> {
        let span = rows.span();
        let mut at = root;
        while at != NONE {
            let node = self.node(at);
            // If a node on the left ends behind the start of the span, either its rows overlap, or
            // it lies beside them, or it also starts behind the span, and then so do this node and
            // all to its right.
            if node.left != NONE
                && self.node(node.left).max_end > span.start
                && let Some(found) = self.first_overlap(node.left, rows)
            {
                return Some(found);
            }
            if node.rows.start() >= span.end {
                return None;
            }
            if node.rows.overlaps(rows) {
                return Some(at);
            }
            at = node.right;
        }
        None
    }

    /// Adds an entry and gives its number: the smallest if there is no other entry.
    pub(super) fn insert(&mut self, access: Access, rows: Rows) -> u32 {
        // Xorshift; the order of entries may be chosen by an adversary, the priorities not.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 17;
        self.seed ^= self.seed << 5;
        let (priority, access_number) = (self.seed, access as usize);
        let mut node =
            Node { rows, max_end: 0, left: NONE, right: NONE, priority, access: Some(access) };
        node.max_end = node.reach();
        let number = if self.vacant == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let number = self.vacant;
            self.vacant = self.node(number).left;
            *self.node_mut(number) = node;
            number
        };
        self.roots[access_number] = self.place(self.roots[access_number], number);
        self.len += 1;
        number
    }

    /// Removes the entry with this number; nothing happens if there is none.
    pub(super) fn remove(&mut self, number: u32) -> Option<Access> {
        let access = self.nodes.get(number as usize)?.access?;
        let root = self.roots[access as usize];
        self.roots[access as usize] = self.take(root, number);
        self.len -= 1;
        if self.len == 0 {
            self.nodes.clear();
            if self.nodes.capacity() > KEEP {
                self.nodes = Vec::new();
            }
            self.vacant = NONE;
        } else {
            let next = self.vacant;
            let node = self.node_mut(number);
            (node.access, node.left) = (None, next);
            self.vacant = number;
        }
        Some(access)
    }

    fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    fn node_mut(&mut self, number: u32) -> &mut Node {
        &mut self.nodes[number as usize]
    }

    /// Where a node belongs among others.
    fn key(&self, number: u32) -> (usize, u32) {
        (self.node(number).rows.start(), number)
    }

    /// Recomputes what a node knows of the nodes below it.
    fn update(&mut self, number: u32) {
        let node = *self.node(number);
        let below = |child: u32| if child == NONE { 0 } else { self.node(child).max_end };
        self.node_mut(number).max_end = node.reach().max(below(node.left)).max(below(node.right));
    }

    /// Puts a single node into a tree; gives the new root.
    fn place(&mut self, root: u32, number: u32) -> u32 {
        if root == NONE {
            return number;
        }
        if self.node(number).priority > self.node(root).priority {
            let (left, right) = self.split(root, self.key(number));
            let node = self.node_mut(number);
            (node.left, node.right) = (left, right);
            self.update(number);
            return number;
        }
        if self.key(number) < self.key(root) {
            let left = self.place(self.node(root).left, number);
            self.node_mut(root).left = left;
        } else {
            let right = self.place(self.node(root).right, number);
            self.node_mut(root).right = right;
        }
        self.update(root);
        root
    }

    /// Takes a node out of the tree that has it; gives the new root.
    fn take(&mut self, root: u32, number: u32) -> u32 {
        if root == NONE {
            return NONE;
        }
        let Node { left, right, .. } = *self.node(root);
        if root == number {
            return self.merge(left, right);
        }
        if self.key(number) < self.key(root) {
            let left = self.take(left, number);
            self.node_mut(root).left = left;
        } else {
            let right = self.take(right, number);
            self.node_mut(root).right = right;
        }
        self.update(root);
        root
    }

    /// Divides a tree into the nodes before a key and the others.
    fn split(&mut self, root: u32, key: (usize, u32)) -> (u32, u32) {
        if root == NONE {
            return (NONE, NONE);
        }
        let Node { left, right, .. } = *self.node(root);
        if self.key(root) < key {
            let (before, after) = self.split(right, key);
            self.node_mut(root).right = before;
            self.update(root);
            (root, after)
        } else {
            let (before, after) = self.split(left, key);
            self.node_mut(root).left = after;
            self.update(root);
            (before, root)
        }
    }

    /// Joins two trees, all of whose nodes are before and after each other.
    fn merge(&mut self, before: u32, after: u32) -> u32 {
        if before == NONE || after == NONE {
            return if before == NONE { after } else { before };
        }
        let root = if self.node(before).priority > self.node(after).priority {
            let right = self.merge(self.node(before).right, after);
            self.node_mut(before).right = right;
            before
        } else {
            let left = self.merge(before, self.node(after).left);
            self.node_mut(after).left = left;
            after
        };
        self.update(root);
        root
    }
}
