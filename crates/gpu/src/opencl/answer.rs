//! What a driver's answers mean.

use tenure_memory::DeviceFault;

/// A driver's answer: 0 is success, errors are negative.
pub(super) type Code = i32;

pub(super) const DEVICE_NOT_FOUND: Code = -1;
const DEVICE_NOT_AVAILABLE: Code = -2;
const ALLOCATION_FAILURE: Code = -4;
pub(super) const OUT_OF_RESOURCES: Code = -5;
const OUT_OF_HOST_MEMORY: Code = -6;
/// One of the events that were waited for has an error.
pub(super) const FAILED_EVENT: Code = -14;
const INVALID_BUFFER_SIZE: Code = -61;
/// The loader finds no driver.
pub(super) const NO_PLATFORM: Code = -1001;

/// Whether an answer to an allocation means that there is no room, for now or ever.
pub(super) fn is_full(code: Code) -> bool {
    [ALLOCATION_FAILURE, OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY, INVALID_BUFFER_SIZE].contains(&code)
}

/// What an answer means that is no success.
pub(super) fn fault(code: Code) -> DeviceFault {
    match code {
        DEVICE_NOT_AVAILABLE => DeviceFault::Lost,
        code => DeviceFault::Answer { code: i64::from(code), name: name(code).to_owned() },
    }
}

/// What the end of work means that was begun. A copy that ends for want of resources is what
/// drivers say when the device stopped: what comes after it in its queue is not done either.
pub(super) fn ended(code: Code) -> DeviceFault {
    match code {
        OUT_OF_RESOURCES | FAILED_EVENT => DeviceFault::Lost,
        code => fault(code),
    }
}

/// The name that OpenCL's header has for an answer.
pub(super) fn name(code: Code) -> &'static str {
    match code {
        0 => "CL_SUCCESS",
        DEVICE_NOT_FOUND => "CL_DEVICE_NOT_FOUND",
        DEVICE_NOT_AVAILABLE => "CL_DEVICE_NOT_AVAILABLE",
        ALLOCATION_FAILURE => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        OUT_OF_RESOURCES => "CL_OUT_OF_RESOURCES",
        OUT_OF_HOST_MEMORY => "CL_OUT_OF_HOST_MEMORY",
        -8 => "CL_MEM_COPY_OVERLAP",
        FAILED_EVENT => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -32 => "CL_INVALID_PLATFORM",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -58 => "CL_INVALID_EVENT",
        -59 => "CL_INVALID_OPERATION",
        INVALID_BUFFER_SIZE => "CL_INVALID_BUFFER_SIZE",
        NO_PLATFORM => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => "see OpenCL's header",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_lack_of_room_are_told_apart() {
        for code in [-4, -5, -6, -61] {
            assert!(is_full(code), "{}", name(code));
        }
        assert!(!is_full(-2) && !is_full(-30) && !is_full(0));
        assert_eq!(
            (fault(-2), ended(-2), ended(-5)),
            (DeviceFault::Lost, DeviceFault::Lost, DeviceFault::Lost)
        );
        // A submission that finds no room ends nothing.
        assert!(fault(-5).to_string().contains("-5 (CL_OUT_OF_RESOURCES)"));
        assert!(ended(-30).to_string().contains("CL_INVALID_VALUE"));
    }
}
