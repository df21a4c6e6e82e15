//! The words of every remedy in every language. An empty text: that language has no such call.

use std::borrow::Cow;

use super::{Language, Remedy};

impl Remedy {
    /// What to do, in calls of `language`; empty where it has none.
    pub fn words(self, language: Language) -> Cow<'static, str> {
        match self {
            Remedy::OpenDevice { backend, number } => match language {
                Language::Rust => {
                    format!("open it with tenure::gpu::open(\"{backend}:{number}\")").into()
                }
                Language::C => {
                    format!("open it with tenure_device_open(\"{backend}:{number}\")").into()
                }
                Language::Python => {
                    format!("open it with tenure.open_device(\"{backend}:{number}\")").into()
                }
                Language::Command | Language::Plain => "".into(),
            },
            Remedy::TrustProducer { uid } => match language {
                Language::Rust => {
                    format!("if that is right, subscribe with producer_uid({uid})").into()
                }
                Language::C => format!(
                    "if that is right, pass {uid} to tenure_subscriber_options_set_producer_uid()"
                )
                .into(),
                Language::Python => {
                    format!("if that is right, subscribe with producer_uid={uid}").into()
                }
                Language::Command | Language::Plain => "".into(),
            },
            other => Cow::Borrowed(match language {
                Language::Rust => other.fixed()[0],
                Language::C => other.fixed()[1],
                Language::Python => other.fixed()[2],
                Language::Command => other.fixed()[3],
                Language::Plain => "",
            }),
        }
    }

    /// The words of a remedy without values: in Rust, C, Python and of the command.
    fn fixed(self) -> [&'static str; 4] {
        match self {
            Remedy::OpenDevice { .. } | Remedy::TrustProducer { .. } => [""; 4],
            Remedy::CopyToMain => [
                "copy it with to(Some(TensorMemory::Mem)), or with copy_from() into memory that \
                 can be mapped",
                "copy it with tenure_tensor_to() and TENURE_MEMORY_MEM, or with \
                 tenure_tensor_copy_from() into memory that can be mapped",
                "copy it with to('mem'), or with copy_from() into memory that can be mapped",
                "use memory mem, shm or dma",
            ],
            Remedy::OpenAnyDevice => [
                "open one with tenure::gpu::open()",
                "open one with tenure_device_open()",
                "open one with tenure.open_device()",
                "",
            ],
            Remedy::OpenFile => [
                "open it with open_file()",
                "open it with tenure_file_open()",
                "open it with tenure.open()",
                "",
            ],
            Remedy::MapForReading => [
                "use map_read(), or copy it to writable memory",
                "use tenure_map_read(), or copy it to writable memory",
                "use map_read(), or copy it to writable memory",
                "copy it to writable memory",
            ],
            Remedy::CloneDescriptor => [
                "allocate with memory dma, or use clone_fd()",
                "allocate with TENURE_MEMORY_DMA, or use tenure_tensor_clone_fd()",
                "allocate with memory dma, or use fd()",
                "use memory dma",
            ],
            Remedy::UseDynamic => {
                ["use TensorDyn, which maps as bytes", "map it as bytes", "map it as bytes", ""]
            }
            Remedy::MapOtherwise { rows, whole } => [
                match (rows, whole) {
                    (true, true) => {
                        "use map_rows(), map_strided(), or map_span() for all bytes with the gaps"
                    }
                    (true, false) => "use map_rows() or map_strided()",
                    (false, true) => {
                        "use map_strided(), or map_span() for all bytes in memory order"
                    }
                    (false, false) => "use map_strided(), or copy the tensor",
                },
                "use tenure_map() or tenure_map_read(), or copy the tensor",
                "use map() or map_read(), or copy the tensor",
                "",
            ],
            Remedy::MapRows => [
                "use map_rows() or map_strided()",
                "use tenure_map() or tenure_map_read()",
                "use map() or map_read()",
                "",
            ],
            Remedy::UseImageItself => [
                "use it as it is, or index() for one of its rows or channels",
                "use it as it is, or tenure_tensor_index() for one of its rows or channels",
                "use it as it is",
                "",
            ],
            Remedy::SetFormat => [
                "call set_format() first",
                "call tenure_tensor_set_format() first",
                "take with_format() of it first",
                "",
            ],
            Remedy::TakeOneImage => [
                "take one with batch() first",
                "take one with tenure_tensor_batch() first",
                "take one by its index, or with batch(), first",
                "",
            ],
            Remedy::MapPlanes => [
                "map each with plane()",
                "map each with tenure_tensor_plane()",
                "map each with plane()",
                "",
            ],
            Remedy::AskVersionedDlpack => [
                "ask for the versioned structure, or for a copy",
                "use tenure_tensor_to_dlpack(), or copy it first",
                "ask with max_version=(1, 0), or for a copy",
                "",
            ],
            Remedy::SetColour => [
                "use set_colour() on the destination for another",
                "use tenure_tensor_set_colour() on the destination for another",
                "take with_colour() of the destination for another",
                "",
            ],
            Remedy::GiveQuantization => [
                "give one in Normalize, or set that of the destination",
                "give one with tenure_convert_set_quantize(), or set that of the destination with \
                 tenure_tensor_set_quantization()",
                "give one with quantize=(scale, zero_point), or take with_quantization() of the \
                 destination",
                "",
            ],
            Remedy::OpenRaw => [
                "open_raw() takes any file if it is told the element type and the shape",
                "",
                "open_raw() takes any file if it is told the shape and the element type",
                "",
            ],
            Remedy::LoadTensor => [
                "load() puts it into memory",
                "tenure_file_load() puts it into memory",
                "load() puts it into memory",
                "",
            ],
            Remedy::ListCameras => {
                ["list what there is with cameras()", "", "", "tenure info lists what there is"]
            }
            Remedy::ResumeCamera => ["call resume() first", "", "", ""],
            Remedy::CaptureContiguous => [
                "its hardware may need contiguous memory; take a CMA heap such as \
                 Source::Heap(\"reserved\"), or let the driver export its own buffers",
                "its hardware may need contiguous memory",
                "its hardware may need contiguous memory",
                "its hardware may need contiguous memory",
            ],
            Remedy::DropFrames => [
                "drop one, ask for more credits(), or build the subscriber with wait_when_full() \
                 if another thread drops them",
                "release one, ask for more with tenure_subscriber_options_set_credits(), or call \
                 tenure_subscriber_options_set_wait_when_full() if another thread releases them",
                "drop one, ask for more credits, or subscribe with wait_when_full=True if another \
                 thread drops them",
                "",
            ],
            Remedy::RaiseLimits => [
                "raise memory_limit() or descriptor_limit(), see ulimit -n",
                "raise them with tenure_subscriber_options_set_limits(), see ulimit -n",
                "raise memory_limit or descriptor_limit, see ulimit -n",
                "see ulimit -n",
            ],
            Remedy::LetFramesDiffer => [
                "open the publisher with initial_spec() instead of spec(), or without, if frames \
                 may differ",
                "open the publisher with tenure_publisher_options_set_initial_spec() instead of \
                 tenure_publisher_options_set_spec(), or without, if frames may differ",
                "open the publisher with strict=False, or without a shape, if frames may differ",
                "",
            ],
            Remedy::PublishSlots => [
                "publish or drop one, or build the publisher with more claims()",
                "publish or free one, or ask for more with \
                 tenure_publisher_options_set_claims()",
                "publish or drop one, or open the publisher with more claims",
                "",
            ],
            Remedy::TryAgainOrMoreSlots => [
                "try again, or build the publisher with more claims()",
                "try again, or ask for more with tenure_publisher_options_set_claims()",
                "try again, or open the publisher with more claims",
                "",
            ],
            Remedy::DescribeFrames => [
                "use claim_as() first",
                "pass a spec to tenure_publisher_claim() first",
                "open the publisher with a shape",
                "",
            ],
            Remedy::AllowVideoMeta => [
                "allow it with video_meta(), or publish frames whose width is a multiple of 4 and \
                 height even",
                "publish frames whose width is a multiple of 4 and height even",
                "publish frames whose width is a multiple of 4 and height even",
                "allow it with --video-meta, or publish frames whose width is a multiple of 4 and \
                 height even",
            ],
            Remedy::GiveDimensions => {
                let dims = "give each a value in dims";
                [dims, "", dims, "give each with --dim NAME=VALUE"]
            }
            Remedy::RaiseBridgeMemory => [
                "allow more with memory(), or import fewer streams",
                "",
                "",
                "allow more with --memory, or import fewer streams",
            ],
        }
    }
}
