//! A plan's lanes as queues of a device: what is computed with, and what is copied beside it.

use std::sync::Arc;

use tenure_memory::{Allocator, Result, TensorMemory};
use tenure_plan::{Arena, Lane};

use crate::Gpu;

/// The allocators for the arenas of a plan, one for each lane: arenas of the copy lane are copied on a
/// queue for copies, beside what the first queue does.
///
/// ```
/// use tenure_gpu::{Gpu, testing::TestDevice};
/// use tenure_memory::{Buffer, Request, TensorMemory};
/// use tenure_plan::{BufferSpec, Options, Packer, PlannerMode, Schedule, Step, plan};
/// use tenure_tensor::realize::realize_in;
///
/// let gpu = Gpu::over(TestDevice::new())?;
/// let lanes = gpu.lanes(TensorMemory::Device)?;
/// let names = ["in", "a", "out"];
/// let mut buffers: Vec<_> = names.map(|name| BufferSpec::new(name, 4096)).into();
/// (buffers[0].input, buffers[2].output) = (true, true);
/// let steps = vec![Step::new("1", [0], [1]), Step::new("2", [1], [2])];
/// let schedule = Schedule { buffers, steps };
/// let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default())?;
/// let buffers = names.map(|_| Buffer::lazy_in(lanes.compute(), &Request::new(4096).unwrap()));
/// realize_in(&schedule, &plan, &buffers, |arena| Ok(lanes.of(arena)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lanes {
    compute: Arc<dyn Allocator>,
    copy: Arc<dyn Allocator>,
}

impl Gpu {
    /// The allocators for arenas of `Device`, `Pinned` or `Managed` memory, by lane.
    ///
    /// # Errors
    /// As [`Gpu::allocator`].
    pub fn lanes(&self, memory: TensorMemory) -> Result<Lanes> {
        Ok(Lanes { compute: self.allocator(memory)?, copy: self.for_copies().allocator(memory)? })
    }
}

impl Lanes {
    /// For one arena.
    pub fn of(&self, arena: &Arena) -> &dyn Allocator {
        match arena.lane {
            Lane::Compute => self.compute.as_ref(),
            Lane::Copy => self.copy.as_ref(),
        }
    }

    /// For what is computed with: also for buffers before they have their place.
    pub fn compute(&self) -> Arc<dyn Allocator> {
        Arc::clone(&self.compute)
    }

    /// For what is copied beside it.
    pub fn copy(&self) -> Arc<dyn Allocator> {
        Arc::clone(&self.copy)
    }
}

impl std::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lanes").field("memory", &self.compute.memory()).finish_non_exhaustive()
    }
}
