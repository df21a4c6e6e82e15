//! A plan to look at: memory over time, as one self-contained page or as a picture.
//!
//! A drawing is plain data: names, and for each plan where every tenant lies and when it lives.
//! Nothing here knows how the plan was made.

mod page;
mod svg;

use serde::Serialize;

/// What there is to see.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    /// What is drawn: a model's name, say.
    pub title: String,
    /// Names of the buffers.
    pub names: Vec<String>,
    /// Names of the steps; a step without a name shows its number.
    pub steps: Vec<String>,
    /// First step.
    pub first: u64,
    /// One past the last step.
    pub last: u64,
    /// The plans, side by side.
    pub plans: Vec<DrawnPlan>,
}

/// One plan. The tenants are in columns of equal length.
#[derive(Debug, Clone, Default)]
pub struct DrawnPlan {
    /// What it is called: mode and packer.
    pub label: String,
    /// Bytes of all arenas.
    pub bytes: u64,
    /// What no plan of this mode can be smaller than.
    pub bound: u64,
    /// Whether it is proven to be the smallest of its mode.
    pub optimal: bool,
    /// Whether it is the smallest of all.
    pub winner: bool,
    /// The arenas, one above the other.
    pub arenas: Vec<DrawnArena>,
    /// Index into [`Drawing::names`].
    pub buffer: Vec<u32>,
    /// Index into [`DrawnPlan::arenas`].
    pub arena: Vec<u32>,
    /// First step at which the tenant lives.
    pub lower: Vec<u64>,
    /// One past its last step.
    pub upper: Vec<u64>,
    /// Its bytes.
    pub size: Vec<u64>,
    /// Where in its arena it starts.
    pub offset: Vec<u64>,
    /// Where in the picture it starts: the arena's base and its offset.
    pub base: Vec<u64>,
}

/// One arena of a plan.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DrawnArena {
    /// What it is called: device and lane.
    pub label: String,
    /// Where in the picture it starts.
    pub base: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// One thing in an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenant {
    /// Index into [`Drawing::names`].
    pub buffer: u32,
    /// Index into [`DrawnPlan::arenas`].
    pub arena: u32,
    /// First step at which it lives.
    pub lower: u64,
    /// One past its last step.
    pub upper: u64,
    /// Its bytes.
    pub size: u64,
    /// Where in its arena it starts.
    pub offset: u64,
}

impl DrawnPlan {
    /// Puts a new arena above the others.
    pub fn add_arena(&mut self, label: String, bytes: u64) {
        // A place in a picture, and no memory: arenas beyond the largest number are drawn at it.
        let base = self.arenas.last().map_or(0, |last| last.base.saturating_add(last.bytes));
        self.arenas.push(DrawnArena { label, base, bytes });
    }

    /// Puts a tenant into its arena. One of an arena that does not exist is drawn from zero.
    pub fn add_tenant(&mut self, tenant: Tenant) {
        let Tenant { buffer, arena, lower, upper, size, offset } = tenant;
        let base = self.arenas.get(arena as usize).map_or(0, |arena| arena.base);
        self.buffer.push(buffer);
        self.arena.push(arena);
        self.lower.push(lower);
        self.upper.push(upper);
        self.size.push(size);
        self.offset.push(offset);
        // As above: where it is drawn. `offset` is what is said.
        self.base.push(base.saturating_add(offset));
    }

    /// The tenants, in the order in which they were added.
    pub fn tenants(&self) -> impl Iterator<Item = Tenant> + '_ {
        (0..self.buffer.len()).filter_map(|at| {
            Some(Tenant {
                buffer: *self.buffer.get(at)?,
                arena: *self.arena.get(at)?,
                lower: *self.lower.get(at)?,
                upper: *self.upper.get(at)?,
                size: *self.size.get(at)?,
                offset: *self.offset.get(at)?,
            })
        })
    }
}

impl Drawing {
    /// One page with everything in it, for any browser: the memory map of every plan over time,
    /// with zoom, names under the pointer, the peak and its largest tenants.
    pub fn html(&self) -> String {
        page::html(self)
    }

    /// A picture of the plan that won (or of the first one).
    pub fn svg(&self) -> String {
        svg::svg(self)
    }

    /// The plan that won, or the first one.
    pub fn winner(&self) -> Option<&DrawnPlan> {
        self.plans.iter().find(|plan| plan.winner).or(self.plans.first())
    }
}
