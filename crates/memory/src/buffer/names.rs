//! What a buffer is called: by whoever asked for it, and by the plan that placed it.

use super::Buffer;
use crate::Error;
use crate::detail::Asker;

impl Buffer {
    /// The name it was asked for with.
    pub fn name(&self) -> Option<&str> {
        self.root.name.as_deref()
    }

    /// What the plan that placed it calls it ([`Buffer::place_in_as`]).
    pub fn planned_name(&self) -> Option<&str> {
        self.root.place.get()?.planned.as_deref()
    }

    /// An error of the allocation, in which this buffer is named too: an arena has many buffers, and
    /// its own name does not tell whose bytes were asked for.
    #[cold]
    pub fn named_in(&self, mut error: Error) -> Error {
        if let Error::Busy(busy) = &mut error {
            let own = self.name().filter(|own| Some(*own) != busy.name.as_deref());
            let planned = self.planned_name().filter(|planned| self.name() != Some(planned));
            if own.is_some() || planned.is_some() {
                let name = self.root.name.clone();
                let planned = planned.map(Box::from);
                busy.asker = Some(Asker { name, planned });
            }
        }
        error
    }
}
