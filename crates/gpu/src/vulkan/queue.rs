//! The queues of a Vulkan device: tasks become command buffers, numbers of a timeline semaphore.
#![expect(unsafe_code, reason = "calls Vulkan, which is loaded at run time")]

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ash::prelude::VkResult;
use ash::vk;
use smallvec::SmallVec;

use crate::device::Task;

/// A queue, and what work on it needs.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Counts up to the number of the last work that is done.
    done: vk::Semaphore,
}

struct State {
    queue: vk::Queue,
    pool: vk::CommandPool,
    /// Command buffers by the number of their work, the oldest first.
    used: VecDeque<(u64, vk::CommandBuffer)>,
    last: u64,
}

/// The most queues that only copy: hardware has one for each direction.
const COPY_QUEUES: u32 = 2;

/// Which queues a device is opened with: family, how many, in the order of their numbers.
pub(super) struct Queues {
    parts: Vec<(u32, u32)>,
}

impl Queues {
    /// The first queue computes or draws, and copies, which it need not say. More that only copy
    /// come from a family of their own, or else from the first one's.
    pub(super) fn choose(families: &[vk::QueueFamilyProperties]) -> Option<Queues> {
        let works = vk::QueueFlags::COMPUTE | vk::QueueFlags::GRAPHICS;
        let named = || (0..).zip(families);
        let (first, own) = named().find(|(_, family)| family.queue_flags.intersects(works))?;
        let copies = |family: &vk::QueueFamilyProperties| {
            let flags = family.queue_flags;
            flags.contains(vk::QueueFlags::TRANSFER) && !flags.intersects(works)
        };
        let parts = match named().find(|(_, family)| copies(family)) {
            Some((other, family)) => {
                vec![(first, 1), (other, family.queue_count.clamp(1, COPY_QUEUES))]
            }
            None => vec![(first, own.queue_count.clamp(1, 1 + COPY_QUEUES))],
        };
        Some(Queues { parts })
    }

    /// What a device is asked for.
    pub(super) fn wanted(&self) -> Vec<vk::DeviceQueueCreateInfo<'static>> {
        const PRIORITIES: [f32; 1 + COPY_QUEUES as usize] = [1.0; 1 + COPY_QUEUES as usize];
        let wanted = |&(family, count): &(u32, u32)| {
            let priorities = PRIORITIES.get(..count as usize).unwrap_or(&PRIORITIES);
            vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(priorities)
        };
        self.parts.iter().map(wanted).collect()
    }

    pub(super) fn families(&self) -> Vec<u32> {
        self.parts.iter().map(|(family, _)| *family).collect()
    }

    /// The queues of a device that was made with what is [`Queues::wanted`].
    pub(super) fn make(&self, device: &ash::Device) -> VkResult<Vec<Queue>> {
        let mut made = vec![];
        for &(family, count) in &self.parts {
            for index in 0..count {
                match Queue::new(device, family, index) {
                    Ok(queue) => made.push(queue),
                    Err(error) => {
                        // SAFETY: nothing was submitted to any of them.
                        made.iter().for_each(|queue: &Queue| unsafe { queue.destroy(device) });
                        return Err(error);
                    }
                }
            }
        }
        Ok(made)
    }
}

impl Queue {
    fn new(device: &ash::Device, family: u32, index: u32) -> VkResult<Queue> {
        let pool = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        let mut timeline = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let semaphore = vk::SemaphoreCreateInfo::default().push_next(&mut timeline);
        // SAFETY: the device was made with this queue, and with timeline semaphores.
        unsafe {
            let done = device.create_semaphore(&semaphore, None)?;
            let pool = device
                .create_command_pool(&pool, None)
                .inspect_err(|_| device.destroy_semaphore(done, None))?;
            let queue = device.get_device_queue(family, index);
            let state = State { queue, pool, used: VecDeque::new(), last: 0 };
            Ok(Queue { state: Mutex::new(state), done })
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The semaphore, and how far it has counted.
    pub(super) fn counted(&self, device: &ash::Device) -> VkResult<(vk::Semaphore, u64)> {
        // SAFETY: the semaphore is this device's.
        Ok((self.done, unsafe { device.get_semaphore_counter_value(self.done)? }))
    }

    /// Begins work and gives its number. `buffers` finds the buffer of a block. What other queues
    /// wrote until they had counted so far is seen.
    ///
    /// # Safety
    /// As [`crate::Device::submit`]; the buffers must be those of the blocks.
    pub(super) unsafe fn submit(
        &self,
        device: &ash::Device,
        tasks: &[Task],
        others: &[(vk::Semaphore, u64)],
        buffers: impl Fn(u64) -> VkResult<vk::Buffer>,
    ) -> VkResult<u64> {
        let (seen, counts): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) = others.iter().copied().unzip();
        let stages: SmallVec<[_; 4]> =
            seen.iter().map(|_| vk::PipelineStageFlags::ALL_COMMANDS).collect();
        let mut state = self.state();
        // SAFETY: the command buffer is free, by the semaphore; the lock keeps pool and queue for
        // this thread; places are inside buffers that exist, by the caller's promise.
        unsafe {
            let commands = state.commands(device, self.done)?;
            let recorded = record(device, commands, tasks, buffers);
            let number = state.last + 1;
            let submitted = recorded.and_then(|()| {
                let (numbers, semaphores, all) = ([number], [self.done], [commands]);
                let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
                    .wait_semaphore_values(&counts)
                    .signal_semaphore_values(&numbers);
                let work = vk::SubmitInfo::default()
                    .command_buffers(&all)
                    .wait_semaphores(&seen)
                    .wait_dst_stage_mask(&stages)
                    .signal_semaphores(&semaphores)
                    .push_next(&mut timeline);
                device.queue_submit(state.queue, &[work], vk::Fence::null())
            });
            match submitted {
                Ok(()) => {
                    state.last = number;
                    state.used.push_back((number, commands));
                    Ok(number)
                }
                Err(error) => {
                    // Half written; number 0 is done, so that the next one may have it.
                    let empty = vk::CommandBufferResetFlags::empty();
                    device.reset_command_buffer(commands, empty)?;
                    state.used.push_front((0, commands));
                    Err(error)
                }
            }
        }
    }

    /// Waits for work; says whether it is done.
    pub(super) fn wait(
        &self,
        device: &ash::Device,
        number: u64,
        timeout: Option<Duration>,
    ) -> VkResult<bool> {
        let (semaphores, numbers) = ([self.done], [number]);
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&numbers);
        let most = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the semaphore is this device's.
        match unsafe { device.wait_semaphores(&wait, timeout.map_or(u64::MAX, most)) } {
            Ok(()) => Ok(true),
            Err(vk::Result::TIMEOUT) => Ok(false),
            Err(vk::Result::ERROR_DEVICE_LOST) => Err(vk::Result::ERROR_DEVICE_LOST),
            // The driver had no memory to wait with, say: the work goes on, and what it uses must
            // not be let go of.
            Err(_) => self.watch(device, number, timeout),
        }
    }

    /// Asks again and again whether work is done; only a lost device ends it otherwise.
    fn watch(
        &self,
        device: &ash::Device,
        number: u64,
        timeout: Option<Duration>,
    ) -> VkResult<bool> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            // SAFETY: the semaphore is this device's.
            match unsafe { device.get_semaphore_counter_value(self.done) } {
                Ok(counted) if counted >= number => return Ok(true),
                Err(vk::Result::ERROR_DEVICE_LOST) => return Err(vk::Result::ERROR_DEVICE_LOST),
                _ if until.is_some_and(|until| until <= Instant::now()) => return Ok(false),
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Waits for all work and destroys what was made.
    ///
    /// # Safety
    /// Nothing is submitted any more.
    pub(super) unsafe fn destroy(&self, device: &ash::Device) {
        let state = self.state();
        // SAFETY: all work is done (or the device lost, which ends it), and nobody begins more.
        unsafe {
            let _ = device.device_wait_idle();
            device.destroy_command_pool(state.pool, None);
            device.destroy_semaphore(self.done, None);
        }
    }
}

impl State {
    /// A command buffer that no work uses.
    ///
    /// # Safety
    /// The semaphore must be the one that work of this queue counts.
    unsafe fn commands(
        &mut self,
        device: &ash::Device,
        done: vk::Semaphore,
    ) -> VkResult<vk::CommandBuffer> {
        // SAFETY: the device's own semaphore and pool, by the caller's promise.
        unsafe {
            if let Some(&(number, commands)) = self.used.front()
                && (number == 0 || number <= device.get_semaphore_counter_value(done)?)
            {
                self.used.pop_front();
                return Ok(commands);
            }
            let wanted = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.pool)
                .command_buffer_count(1);
            let made = device.allocate_command_buffers(&wanted)?;
            made.first().copied().ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)
        }
    }
}

/// Writes tasks down, after everything before and visible to the CPU afterwards.
///
/// # Safety
/// The command buffer must be in no use, and places inside the buffers.
unsafe fn record(
    device: &ash::Device,
    commands: vk::CommandBuffer,
    tasks: &[Task],
    buffers: impl Fn(u64) -> VkResult<vk::Buffer>,
) -> VkResult<()> {
    let once =
        vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
    let transfer = vk::AccessFlags::TRANSFER_READ | vk::AccessFlags::TRANSFER_WRITE;
    let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
    let before = vk::MemoryBarrier::default().src_access_mask(all).dst_access_mask(transfer);
    let after = vk::MemoryBarrier::default()
        .src_access_mask(transfer)
        .dst_access_mask(vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE);
    let (queue, copying) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::TRANSFER);
    let (host, none) = (vk::PipelineStageFlags::HOST, vk::DependencyFlags::empty());
    // SAFETY: by the caller's promise.
    unsafe {
        device.begin_command_buffer(commands, &once)?;
        device.cmd_pipeline_barrier(commands, queue | host, copying, none, &[before], &[], &[]);
        let mut rest = tasks;
        while let Some(first) = rest.first() {
            match *first {
                Task::Fill { to, bytes, pattern } => {
                    let (buffer, at) = (buffers(to.0)?, to.1 as u64);
                    let value = u32::from_ne_bytes(pattern);
                    device.cmd_fill_buffer(commands, buffer, at, bytes as u64, value);
                    rest = rest.get(1..).unwrap_or_default();
                }
                Task::Copy { to, from, .. } => {
                    // All that go between the same two buffers, in one command.
                    let between = |task: &&Task| match task {
                        Task::Copy { to: other, from: source, .. } => {
                            (other.0, source.0) == (to.0, from.0)
                        }
                        Task::Fill { .. } => false,
                    };
                    let count = rest.iter().take_while(between).count();
                    let (these, others) = rest.split_at(count);
                    let regions: SmallVec<[_; 4]> = these.iter().filter_map(region).collect();
                    device.cmd_copy_buffer(commands, buffers(from.0)?, buffers(to.0)?, &regions);
                    rest = others;
                }
            }
        }
        device.cmd_pipeline_barrier(commands, copying, queue | host, none, &[after], &[], &[]);
        device.end_command_buffer(commands)
    }
}

fn region(task: &Task) -> Option<vk::BufferCopy> {
    match *task {
        Task::Copy { to, from, bytes } if bytes > 0 => {
            let (dst_offset, src_offset, size) = (to.1 as u64, from.1 as u64, bytes as u64);
            Some(vk::BufferCopy { src_offset, dst_offset, size })
        }
        _ => None,
    }
}
