//! The first few elements, for `Debug`.

use std::fmt;

/// How many elements are shown.
const SHOWN: usize = 8;

/// Shows the first elements of an iterator, and whether there are more.
pub(crate) struct First<I>(pub(crate) I);

impl<I: Iterator<Item: fmt::Debug> + Clone> fmt::Debug for First<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.0.clone().take(SHOWN));
        match self.0.clone().nth(SHOWN) {
            Some(_) => list.finish_non_exhaustive(),
            None => list.finish(),
        }
    }
}
