//! How much a file may hold, and how much may be made of it.
//!
//! Two bytes of a file can be a node, which takes a hundred times that in memory; and the body of
//! a function is gone through wherever it is called. So both are counted.

use super::wire::Field;
use crate::{Error, Result};

/// The most parts of a model: nodes, tensors and declarations.
const MAX_PARTS: usize = 1 << 20;
/// The most entries of all parts: names of inputs and outputs, attributes.
const MAX_ENTRIES: usize = 1 << 22;
/// What building may cost beyond going through everything once.
const SPARE: usize = 1 << 22;

/// Counts down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    parts: usize,
    entries: usize,
    spent: usize,
}

impl Budget {
    pub(crate) fn for_reading() -> Budget {
        Budget { parts: MAX_PARTS, entries: MAX_ENTRIES, spent: 0 }
    }

    /// What was read may be gone through a few times.
    pub(crate) fn for_building(self) -> Budget {
        Budget { entries: SPARE + 4 * self.spent, spent: 0, ..self }
    }

    /// How much there was so far.
    pub(crate) fn spent(&self) -> usize {
        self.spent
    }

    /// One more part.
    pub(crate) fn part(&mut self) -> Result<usize> {
        let most = Error::TooMany { what: "nodes, tensors and declarations", most: MAX_PARTS };
        self.parts = self.parts.checked_sub(1).ok_or(most)?;
        self.spent += 1;
        Ok(1)
    }

    /// One more entry of a part.
    pub(crate) fn entry(&mut self) -> Result<()> {
        let most = Error::TooMany { what: "names and attributes", most: MAX_ENTRIES };
        self.entries = self.entries.checked_sub(1).ok_or(most)?;
        self.spent += 1;
        Ok(())
    }

    /// A name, which is one more entry.
    pub(crate) fn name<'a>(&mut self, field: &Field<'a>) -> Result<&'a str> {
        self.entry()?;
        field.text()
    }

    /// Going through so much once.
    pub(crate) fn spend(&mut self, cost: usize) -> Result<()> {
        let what = "steps of calls inside calls";
        let most = Error::TooMany { what, most: self.spent + self.entries };
        self.entries = self.entries.checked_sub(cost).ok_or(most)?;
        self.spent += cost;
        Ok(())
    }
}
