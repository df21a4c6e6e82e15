//! Windows with a ledger of their own, which take turns with the memory below them.
//!
//! Both ledgers are about the same bytes, so one of them is closed at any time: all bytes are
//! entered there for writing, by nobody who uses them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Core, RawBuffer};
use crate::identity::OwnIdentity;
use crate::kind::room::check_room;
use crate::kind::window::Window;
use crate::ledger::{Ledger, Loan};
use crate::{Access, BufferIdentity, Error, RawMemory, Result, Why};

/// Whose turn it is.
pub(super) struct Turns {
    turn: Mutex<Turn>,
    /// Of a window that has pages of its own: it shares no bytes with the memory below any more,
    /// and who compares places or keeps something by identity has to see that.
    own: OnceLock<OwnIdentity>,
}

enum Turn {
    /// The memory's; with the entry that closes the window.
    Home(Loan),
    /// The window's; with the entry that closes the memory below.
    Window(Loan),
    /// The window has pages of its own, and the memory below others: nobody is closed.
    Apart,
}

impl Turns {
    /// Of a window with this ledger, which is new: closed.
    pub(super) fn closed(ledger: &Ledger, size: usize) -> Box<Turns> {
        match ledger.enter(Access::Write, 0..size) {
            Ok(loan) => {
                Box::new(Turns { turn: Mutex::new(Turn::Home(loan)), own: OnceLock::new() })
            }
            Err(_) => unreachable!("nobody has entered anything in a new ledger"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The window is gone.
    pub(super) fn end(&mut self, core: &dyn RawMemory) {
        let turn = self.turn.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let (Turn::Window(loan), Some(home)) =
            (std::mem::replace(turn, Turn::Apart), core.home())
        {
            home.leave_ledger(loan);
        }
    }
}

impl RawBuffer {
    /// Whether this is a window that takes turns with the memory below it.
    pub(crate) fn takes_turns(&self) -> bool {
        self.core().turn.is_some()
    }

    /// The turns of this window over `home`.
    fn turns(&self, home: &RawBuffer) -> Result<MutexGuard<'_, Turn>> {
        let core = self.core();
        let own = core.memory.home().is_some_and(|own| std::ptr::eq(own, home));
        let turns = core.turn.as_ref().filter(|_| own).map(|turns| turns.lock());
        turns.ok_or_else(|| self.no_turn("the window is of other memory"))
    }

    fn no_turn(&self, reason: &str) -> Error {
        let why = Why::Refused { what: "a window over a slot", reason: reason.to_owned() };
        Error::from(crate::detail::Unavailable { memory: self.memory(), why })
    }

    /// Gives the turn to this window over `home`. Nothing may be held there.
    pub(crate) fn begin_turn(&self, home: &RawBuffer) -> Result<()> {
        let mut turn = self.turns(home)?;
        if !matches!(*turn, Turn::Home(_)) {
            return Ok(());
        }
        let loan = home.enter_ledger(Access::Write, 0..home.size())?;
        // Read after the entry, which the pages were left behind under.
        if home.is_left_behind() {
            home.leave_ledger(loan);
            return Err(self.no_turn("its memory has moved: make another window"));
        }
        if let Turn::Home(closed) = std::mem::replace(&mut *turn, Turn::Window(loan)) {
            self.core().ledger.release(closed);
        }
        Ok(())
    }

    /// Gives the turn back to `home`. Nothing may be held in this window.
    pub(crate) fn end_turn(&self, home: &RawBuffer) -> Result<()> {
        let mut turn = self.turns(home)?;
        if !matches!(*turn, Turn::Window(_)) {
            return Ok(());
        }
        let closed = self.enter_ledger(Access::Write, 0..self.size())?;
        if let Turn::Window(loan) = std::mem::replace(&mut *turn, Turn::Home(closed)) {
            home.leave_ledger(loan);
        }
        Ok(())
    }

    /// Parts this window, whose turn it is, from `home`: the window keeps the pages that both
    /// have, as private ones, and the answer has the file's at another address.
    pub(crate) fn part(&self, home: &RawBuffer) -> Result<RawBuffer> {
        let mut turn = self.turns(home)?;
        if !matches!(*turn, Turn::Window(_)) {
            return Err(self.no_turn("it is not open"));
        }
        // Devices and copies go on with the memory itself; who published it, too.
        for held in [Access::KernelRead, Access::KernelWrite, Access::Publish] {
            if self.core().ledger.has(held) {
                let (range, held_range) = (0..self.size(), 0..self.size());
                let (asked, name) = (Access::Publish, self.name.clone());
                return Err(Error::from(crate::detail::Busy {
                    asked,
                    range,
                    held,
                    held_range,
                    name,
                    asker: None,
                }));
            }
        }
        let core = home.core();
        // What the window keeps is copied where it is written or still there at the next turn.
        home.check_room_for_copy()?;
        let memory = core.memory.move_away()?;
        core.left_behind.store(true, Ordering::Release);
        if let Some(key) = core.object {
            crate::registry::forget_writable(key);
        }
        let raw = RawBuffer::from_box(memory, home.name());
        raw.mark_shared();
        if let Some(turns) = &self.core().turn {
            turns.own.get_or_init(OwnIdentity::new);
        }
        if let Turn::Window(loan) = std::mem::replace(&mut *turn, Turn::Apart) {
            home.leave_ledger(loan);
        }
        Ok(raw)
    }

    /// Whether this is a window whose bytes are private: it was parted from its memory, or what it
    /// is a window over was.
    pub fn is_parted(&self) -> bool {
        self.parted_identity().is_some()
    }

    /// Which allocation a parted window is: neither the memory that it was a window over, nor what
    /// other windows over that were.
    #[inline]
    pub(crate) fn parted_identity(&self) -> Option<&BufferIdentity> {
        let core = self.core();
        match &core.turn {
            Some(turns) => turns.own.get().map(|own| &**own),
            // Windows over such a window show what it keeps.
            None => core.memory.home().and_then(RawBuffer::parted_identity),
        }
    }

    /// Whether the memory's bytes have another address now, and a window keeps what is here.
    pub(crate) fn is_left_behind(&self) -> bool {
        self.core().left_behind.load(Ordering::Acquire)
    }

    /// Makes private pages keep what they show, also when the file's change.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the machine has no room for the copy, which may be made later then.
    pub(crate) fn copy_left_behind(&self) -> Result<()> {
        self.check_room_for_copy()?;
        self.core().memory.copy_pages()
    }

    /// Copies of pages are made by the kernel, which does not say no.
    pub(super) fn check_room_for_copy(&self) -> Result<()> {
        check_room(self.memory(), self.size(), self.size())
    }

    /// A closed window over `home` with a ledger of its own.
    pub(crate) fn in_turns(home: &Arc<RawBuffer>, window: Window) -> RawBuffer {
        let mut raw = RawBuffer::over(home, window);
        if let Some(core) = &mut raw.core {
            let ledger = Arc::new(Ledger::new());
            core.turn = Some(Turns::closed(&ledger, core.size));
            core.ledger = ledger;
        }
        raw
    }
}

impl Core {
    pub(super) fn end_turns(&mut self) {
        if let Some(turns) = &mut self.turn {
            turns.end(self.memory.as_ref());
        }
    }
}
