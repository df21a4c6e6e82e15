/*
 * Tenure: where every tensor lives, and for how long.
 *
 * Written by `cargo xtask c-header` from crates/capi/src: change it there.
 *
 * Handles are opaque. A call answers a status; anything but TENURE_STATUS_OK has a text for this
 * thread, tenure_last_error(). Null pointers and wrong values are such answers. What no library can
 * find out is up to the caller: a pointer that is not null points to what its type says, a handle
 * was not freed, a list has as many entries as are said, and whoever changes or frees a handle is
 * the only one who uses it. What is put out is left as it was if a call does not succeed.
 *
 * With TENURE_CHECK_HANDLES=1 in the environment handles are looked up: one that was freed, is of
 * another kind or never was one is TENURE_STATUS_INVALID, and freeing it again does nothing but
 * leave a text. That is for finding mistakes: it takes a lock in every call, and it keeps the memory
 * of freed handles for a while, which hides them from AddressSanitizer and valgrind.
 */


#ifndef TENURE_H
#define TENURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* Of DLPack, whose header dlpack.h says what is in them. */
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
typedef struct DLManagedTensor DLManagedTensor;
#ifdef __cplusplus
}
#endif


/**
 * Has its contents before the first step; no step writes it.
 */
#define TENURE_BUFFER_INPUT 1

/**
 * Is looked at after the last step.
 */
#define TENURE_BUFFER_OUTPUT 2

/**
 * Has memory already.
 */
#define TENURE_BUFFER_ALLOCATED 4

/**
 * Steps read bytes of it that no step has written.
 */
#define TENURE_BUFFER_PARTIAL 8

/**
 * The version of the binary interface that this header describes. It grows with every change of
 * it; a library answers its own with `tenure_abi_version`.
 */
#define TENURE_ABI_VERSION 1

/**
 * What a call answers. Anything but `TENURE_STATUS_OK` has a text, which `tenure_last_error`
 * gives; what a call would have put out is left as it was.
 */
enum tenure_status_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It is done.
     */
    TENURE_STATUS_OK = 0,
    /**
     * A pointer is null that must not be.
     */
    TENURE_STATUS_NULL = 1,
    /**
     * A value is wrong: a shape, a code, a region, a word.
     */
    TENURE_STATUS_INVALID = 2,
    /**
     * Somebody holds bytes in a way that excludes what was asked: release that first.
     */
    TENURE_STATUS_BUSY = 3,
    /**
     * The memory, engine or device cannot be had on this machine or in this build.
     */
    TENURE_STATUS_UNAVAILABLE = 4,
    /**
     * There is no room for so many bytes.
     */
    TENURE_STATUS_OUT_OF_MEMORY = 5,
    /**
     * The bytes are read-only.
     */
    TENURE_STATUS_READ_ONLY = 6,
    /**
     * It makes sense, but not for this: a descriptor of heap memory, one map of several buffers.
     */
    TENURE_STATUS_UNSUPPORTED = 7,
    /**
     * The operating system said no.
     */
    TENURE_STATUS_SYSTEM = 8,
    /**
     * A file or a message is not as its format asks for, or has lost bytes.
     */
    TENURE_STATUS_DAMAGED = 9,
    /**
     * The other side closed the connection, or the stream has ended.
     */
    TENURE_STATUS_CLOSED = 10,
    /**
     * There is nothing of this name or number.
     */
    TENURE_STATUS_NOT_FOUND = 11,
    /**
     * A callback asked to stop.
     */
    TENURE_STATUS_STOPPED = 12,
    /**
     * A fault in the library itself, which went on: please report it.
     */
    TENURE_STATUS_INTERNAL = 13,
    /**
     * The other side said no; the text has its reason.
     */
    TENURE_STATUS_REFUSED = 14,
    /**
     * The other side is there and did not answer in time.
     */
    TENURE_STATUS_NO_ANSWER = 15,
    /**
     * The producer put this consumer out, because it held its frames for too long.
     */
    TENURE_STATUS_EVICTED = 16,
    /**
     * Something has this name already: a stream with a producer.
     */
    TENURE_STATUS_EXISTS = 17,
    /**
     * An element type that this cannot be done with.
     */
    TENURE_STATUS_WRONG_TYPE = 18,
    /**
     * It was made before this process was forked off, and stays the other process's: make it here.
     */
    TENURE_STATUS_FORKED = 19,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tenure_status_t tenure_status_t;
#else
typedef int32_t tenure_status_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What happens between source and destination: the source is cropped, turned, mirrored, resized
 * to its place in the destination, converted in colour, normalised and stored.
 */
typedef struct tenure_convert_t tenure_convert_t;

/**
 * A device that is open. Its memory keeps it open: it may be freed before its tensors. Any thread
 * may use it.
 */
typedef struct tenure_device_t tenure_device_t;

/**
 * A list of devices at one moment, and of reasons.
 */
typedef struct tenure_devices_t tenure_devices_t;

/**
 * Becomes done when the work behind it is, and stays so. Any thread may use it.
 */
typedef struct tenure_fence_t tenure_fence_t;

/**
 * A file with tensors, or several that belong together. Any thread may use it.
 */
typedef struct tenure_file_t tenure_file_t;

/**
 * A frame of a stream. Its slot goes back to the producer when the frame is released and all
 * tensors, maps and exports made of it are gone; until then nobody writes to it, also if the
 * producer dies. Calls from several threads are fine.
 */
typedef struct tenure_frame_t tenure_frame_t;

/**
 * Tensors that were loaded.
 */
typedef struct tenure_loaded_t tenure_loaded_t;

/**
 * Elements to read and write. Nobody else touches their bytes until it is released.
 */
typedef struct tenure_map_t tenure_map_t;

/**
 * Which buffers share memory: for each an arena and an offset.
 */
typedef struct tenure_plan_t tenure_plan_t;

/**
 * Freed memory that is kept and handed out again. Any thread may use it.
 */
typedef struct tenure_pool_t tenure_pool_t;

/**
 * Turns image tensors into others. Made once and used for many pictures, from any thread.
 */
typedef struct tenure_processor_t tenure_processor_t;

/**
 * Publishes tensors under a name, to every process that subscribes. Any thread may use it. It has
 * a thread of its own, unless its options say otherwise, so a process that forks opens it
 * afterwards.
 */
typedef struct tenure_publisher_t tenure_publisher_t;

/**
 * How a stream is published: its name and options, which may open several publishers in turn.
 */
typedef struct tenure_publisher_options_t tenure_publisher_options_t;

/**
 * Elements to read. Others may read them too; nobody writes them until it is released.
 */
typedef struct tenure_read_t tenure_read_t;

/**
 * A stream at one moment.
 */
typedef struct tenure_stream_report_t tenure_stream_report_t;

/**
 * Steps in order and the buffers that they read and write.
 */
typedef struct tenure_schedule_t tenure_schedule_t;

/**
 * A slot to fill, which nobody else has yet. Publishing takes the slot away; the handle is freed
 * in any case.
 */
typedef struct tenure_slot_t tenure_slot_t;

/**
 * What the frames of a stream look like.
 */
typedef struct tenure_spec_t tenure_spec_t;

/**
 * A list of streams at one moment.
 */
typedef struct tenure_streams_t tenure_streams_t;

/**
 * Gets the frames of a stream. One thread at a time.
 */
typedef struct tenure_subscriber_t tenure_subscriber_t;

/**
 * How a stream is subscribed to: its name and options, which may open several subscribers.
 */
typedef struct tenure_subscriber_options_t tenure_subscriber_options_t;

/**
 * Elements of one type in some memory: a handle. Several handles may be to the same bytes. Calls
 * on one handle from several threads are fine, but for those that change it (`…_set_…`, `…_free`).
 */
typedef struct tenure_tensor_t tenure_tensor_t;

/**
 * How a picture is fitted: one of `TENURE_FIT_…`.
 */
typedef int32_t tenure_fit_t;

/**
 * How samples are taken: one of `TENURE_FILTER_…`.
 */
typedef int32_t tenure_filter_t;

/**
 * The matrix between RGB and YCbCr: one of `TENURE_MATRIX_…`.
 */
typedef int32_t tenure_matrix_t;

/**
 * Which part of the code range carries the signal: one of `TENURE_RANGE_…`.
 */
typedef int32_t tenure_range_t;

/**
 * Where chroma samples lie: one of `TENURE_SITING_…`.
 */
typedef int32_t tenure_siting_t;

/**
 * What an element is: one of `TENURE_DTYPE_…`.
 */
typedef int32_t tenure_dtype_t;

/**
 * Where one plane of an image lies in somebody's memory.
 */
typedef struct tenure_plane_t {
    /**
     * The memory; stays the caller's.
     */
    int fd;
    /**
     * Bytes before the first row.
     */
    size_t offset;
    /**
     * Bytes between rows; 0 for the smallest.
     */
    size_t stride;
    /**
     * The DRM modifier that came with the memory; only 0, linear, is taken.
     */
    uint64_t modifier;
} tenure_plane_t;

/**
 * How pixels are stored: one of `TENURE_FORMAT_…`.
 */
typedef int32_t tenure_format_t;

/**
 * The mechanism that bytes are obtained with: one of `TENURE_MEMORY_…`.
 */
typedef int32_t tenure_memory_t;

/**
 * Where bytes live: one of `TENURE_SPACE_…`.
 */
typedef int32_t tenure_space_t;

/**
 * What a device is made of: one of `TENURE_DEVICE_…`.
 */
typedef int32_t tenure_device_kind_t;

/**
 * Where a converted picture lies in its destination, and the way back for detections.
 */
typedef struct tenure_placement_t {
    /**
     * The destination pixels that the picture covers: leftmost column.
     */
    size_t x;
    /**
     * Topmost row.
     */
    size_t y;
    /**
     * Pixels across.
     */
    size_t width;
    /**
     * Pixels down.
     */
    size_t height;
    /**
     * From a point of the destination to the source: `x' = m[0] * x + m[1] * y + m[2]`,
     * `y' = m[3] * x + m[4] * y + m[5]`.
     */
    double to_source[6];
    /**
     * From a point of the source to the destination.
     */
    double to_destination[6];
} tenure_placement_t;

/**
 * Is told how many of all bytes are loaded, on the thread that loads; false ends the loading. It
 * must return, not throw or jump away.
 */
typedef bool (*tenure_progress_t)(void *context, uint64_t done, uint64_t all);

/**
 * What keeps others from writing to a frame: one of `TENURE_GUARDED_…`.
 */
typedef int32_t tenure_guarded_t;

/**
 * What came with a frame.
 */
typedef struct tenure_frame_info_t {
    /**
     * Its number, counted by the producer since it began.
     */
    uint64_t sequence;
    /**
     * Tells one life of the producer from the next.
     */
    uint64_t incarnation;
    /**
     * When it was taken, in nanoseconds of `CLOCK_MONOTONIC`; 0 if the producer did not say so.
     */
    uint64_t timestamp;
    /**
     * When it was published, in nanoseconds of `CLOCK_MONOTONIC`.
     */
    uint64_t published;
    /**
     * Frames that were published between the one before and this one and did not come.
     */
    uint64_t dropped;
    /**
     * All frames that did not come since this consumer did.
     */
    uint64_t dropped_in_all;
    /**
     * Which slot of the stream it is in.
     */
    size_t slot;
    /**
     * Which memory of the slot it is in: with slot and incarnation, what caches go by.
     */
    uint32_t generation;
    /**
     * What keeps others from writing to it.
     */
    tenure_guarded_t guarded;
} tenure_frame_info_t;

/**
 * A format of picture files: one of `TENURE_PICTURE_…`.
 */
typedef int32_t tenure_picture_t;

/**
 * Is given the next bytes of an encoded picture, on the thread that encodes; false ends it. It
 * must return, not throw or jump away.
 */
typedef bool (*tenure_taker_t)(void *context, const uint8_t *bytes, size_t count);

/**
 * How far sharing goes: one of `TENURE_MODE_…`.
 */
typedef int32_t tenure_mode_t;

/**
 * Who packs: one of `TENURE_PACKER_…`.
 */
typedef int32_t tenure_packer_t;

/**
 * What a pool did and holds.
 */
typedef struct tenure_pool_report_t {
    /**
     * Requests served from kept memory.
     */
    uint64_t hits;
    /**
     * Requests for which memory was allocated.
     */
    uint64_t misses;
    /**
     * Buffers given up: a limit was reached, they were idle, or others may hold them.
     */
    uint64_t given_up;
    /**
     * Buffers kept now.
     */
    uint64_t kept;
    /**
     * Bytes kept now.
     */
    uint64_t kept_bytes;
    /**
     * Buffers in use now.
     */
    uint64_t used;
    /**
     * Bytes in use now.
     */
    uint64_t used_bytes;
    /**
     * The most bytes in use at one time.
     */
    uint64_t peak_bytes;
    /**
     * The most buffers in use at one time.
     */
    uint64_t peak;
} tenure_pool_report_t;

/**
 * A process that wants to subscribe, as the kernel knows it.
 */
typedef struct tenure_peer_t {
    /**
     * Process id at the time of connecting; 0 if it has none here, because it lives outside this
     * process's namespace.
     */
    uint32_t pid;
    /**
     * User id.
     */
    uint32_t uid;
    /**
     * Group id.
     */
    uint32_t gid;
} tenure_peer_t;

/**
 * Is asked whether a process may subscribe. It must return, not throw or jump away.
 */
typedef bool (*tenure_allow_t)(void *context, const struct tenure_peer_t *peer);

/**
 * Frees the context of a callback. It must return, not throw or jump away.
 */
typedef void (*tenure_free_context_t)(void *context);

/**
 * What travels with a frame besides the tensor. All zeros is nothing.
 */
typedef struct tenure_frame_meta_t {
    /**
     * When it was taken, in nanoseconds of `CLOCK_MONOTONIC`, as cameras say it; 0 if that is not
     * known.
     */
    uint64_t timestamp;
    /**
     * Bytes of the user's own, at most 16 KiB, which are copied; null if there are none.
     */
    const void *blob;
    /**
     * How many.
     */
    size_t blob_bytes;
    /**
     * The frame is complete when this fence is done, because a device still writes it; null if it
     * is complete.
     */
    const struct tenure_fence_t *fence;
} tenure_frame_meta_t;

/**
 * What became of a published frame.
 */
typedef struct tenure_receipt_t {
    /**
     * Number of the frame.
     */
    uint64_t sequence;
    /**
     * Consumers that it was sent to.
     */
    size_t consumers;
    /**
     * Consumers that had no credit left and did not get it.
     */
    size_t dropped;
} tenure_receipt_t;

/**
 * The numbers of a stream that are asked for most.
 */
typedef struct tenure_stream_figures_t {
    /**
     * Frames published.
     */
    uint64_t published;
    /**
     * Frames that consumers did not get, all together.
     */
    uint64_t dropped;
    /**
     * Frames per second, of the last few; 0 while the stream pauses.
     */
    double rate;
    /**
     * Consumers.
     */
    size_t consumers;
    /**
     * Slots.
     */
    size_t slots;
    /**
     * Bytes of all slots that have memory, the stream's or the user's.
     */
    size_t bytes;
} tenure_stream_figures_t;

/**
 * Numbers of a subscriber.
 */
typedef struct tenure_subscriber_figures_t {
    /**
     * Frames that can be held at one time: what was asked for, or fewer.
     */
    size_t credits;
    /**
     * The number by which the producer knows this consumer.
     */
    uint64_t id;
    /**
     * Tells one life of the producer from the next.
     */
    uint64_t incarnation;
    /**
     * Frames that did not come because no credit was left, up to this moment.
     */
    uint64_t dropped;
    /**
     * Frames that came and were passed over by `tenure_subscriber_latest`.
     */
    uint64_t skipped;
} tenure_subscriber_figures_t;

/**
 * The first that serves of DMA-BUF, shared memory and heap.
 */
#define TENURE_MEMORY_AUTO -1

/**
 * The heap of this process.
 */
#define TENURE_MEMORY_MEM 0

/**
 * DMA-BUF: memory that cameras, GPUs and NPUs share by file descriptor.
 */
#define TENURE_MEMORY_DMA 1

/**
 * Shared memory between processes: a sealed memory file.
 */
#define TENURE_MEMORY_SHM 2

/**
 * An OpenGL pixel buffer object.
 */
#define TENURE_MEMORY_PBO 3

/**
 * A mapped file, read-only.
 */
#define TENURE_MEMORY_FILE 4

/**
 * Page-locked main memory that a GPU reaches directly.
 */
#define TENURE_MEMORY_PINNED 5

/**
 * Memory of a device.
 */
#define TENURE_MEMORY_DEVICE 6

/**
 * Memory that moves between CPU and device by itself.
 */
#define TENURE_MEMORY_MANAGED 7

/**
 * Ordinary memory of the CPU.
 */
#define TENURE_SPACE_MAIN 0

/**
 * Main memory that a GPU can reach directly and that is never paged out.
 */
#define TENURE_SPACE_PINNED 1

/**
 * Memory of one GPU, or of another device that the CPU does not reach into.
 */
#define TENURE_SPACE_GPU 2

/**
 * Memory that moves between CPU and GPU by itself.
 */
#define TENURE_SPACE_MANAGED 3

/**
 * Unsigned 8-bit integer.
 */
#define TENURE_DTYPE_U8 0

/**
 * Signed 8-bit integer.
 */
#define TENURE_DTYPE_I8 1

/**
 * Unsigned 16-bit integer.
 */
#define TENURE_DTYPE_U16 2

/**
 * Signed 16-bit integer.
 */
#define TENURE_DTYPE_I16 3

/**
 * Unsigned 32-bit integer.
 */
#define TENURE_DTYPE_U32 4

/**
 * Signed 32-bit integer.
 */
#define TENURE_DTYPE_I32 5

/**
 * Unsigned 64-bit integer.
 */
#define TENURE_DTYPE_U64 6

/**
 * Signed 64-bit integer.
 */
#define TENURE_DTYPE_I64 7

/**
 * IEEE 754 half precision.
 */
#define TENURE_DTYPE_F16 8

/**
 * Brain floating point: the upper half of a float.
 */
#define TENURE_DTYPE_BF16 9

/**
 * IEEE 754 single precision.
 */
#define TENURE_DTYPE_F32 10

/**
 * IEEE 754 double precision.
 */
#define TENURE_DTYPE_F64 11

/**
 * A truth value in a byte.
 */
#define TENURE_DTYPE_BOOL 12

/**
 * 8-bit float with 4 exponent bits, finite.
 */
#define TENURE_DTYPE_F8_E4M3 13

/**
 * 8-bit float with 5 exponent bits.
 */
#define TENURE_DTYPE_F8_E5M2 14

/**
 * Unsigned 4-bit integer, two to a byte, the first in the low half.
 */
#define TENURE_DTYPE_U4 15

/**
 * Signed 4-bit integer, two to a byte, the first in the low half.
 */
#define TENURE_DTYPE_I4 16

/**
 * 4-bit float with 2 exponent bits, two to a byte.
 */
#define TENURE_DTYPE_F4_E2M1 17

/**
 * Complex number of two `float`, the real part first: `float _Complex`.
 */
#define TENURE_DTYPE_COMPLEX64 18

/**
 * Complex number of two `double`, the real part first: `double _Complex`.
 */
#define TENURE_DTYPE_COMPLEX128 19

/**
 * No image.
 */
#define TENURE_FORMAT_NONE -1

/**
 * Red, green, blue.
 */
#define TENURE_FORMAT_RGB 0

/**
 * Blue, green, red.
 */
#define TENURE_FORMAT_BGR 1

/**
 * Red, green, blue, alpha.
 */
#define TENURE_FORMAT_RGBA 2

/**
 * Blue, green, red, alpha.
 */
#define TENURE_FORMAT_BGRA 3

/**
 * Luma only.
 */
#define TENURE_FORMAT_GREY 4

/**
 * 4:2:2 in one plane: Y0 U Y1 V.
 */
#define TENURE_FORMAT_YUYV 5

/**
 * 4:2:2 in one plane: U Y0 V Y1.
 */
#define TENURE_FORMAT_UYVY 6

/**
 * 4:2:0: a plane of Y, a plane of U V pairs.
 */
#define TENURE_FORMAT_NV12 7

/**
 * 4:2:0: a plane of Y, a plane of V U pairs.
 */
#define TENURE_FORMAT_NV21 8

/**
 * 4:2:2: a plane of Y, a plane of U V pairs.
 */
#define TENURE_FORMAT_NV16 9

/**
 * 4:4:4: a plane of Y, a plane of U V pairs.
 */
#define TENURE_FORMAT_NV24 10

/**
 * 4:2:0: planes of Y, U and V.
 */
#define TENURE_FORMAT_I420 11

/**
 * As NV12 with 10 bits in the upper part of 16.
 */
#define TENURE_FORMAT_P010 12

/**
 * Planes of red, green and blue.
 */
#define TENURE_FORMAT_PLANAR_RGB 13

/**
 * Planes of red, green, blue and alpha.
 */
#define TENURE_FORMAT_PLANAR_RGBA 14

/**
 * Nothing is said of the colours.
 */
#define TENURE_MATRIX_NONE -1

/**
 * ITU-R BT.601: standard definition, JPEG, most webcams.
 */
#define TENURE_MATRIX_BT601 0

/**
 * ITU-R BT.709: high definition.
 */
#define TENURE_MATRIX_BT709 1

/**
 * ITU-R BT.2020, non-constant luminance: ultra high definition.
 */
#define TENURE_MATRIX_BT2020 2

/**
 * 16 to 235 for luma and 16 to 240 for chroma (of 8 bits).
 */
#define TENURE_RANGE_LIMITED 0

/**
 * 0 to 255 (of 8 bits).
 */
#define TENURE_RANGE_FULL 1

/**
 * Over the whole rectangle, whatever becomes of the proportions.
 */
#define TENURE_FIT_STRETCH 0

/**
 * As large as fits, centred; the rest is filled.
 */
#define TENURE_FIT_LETTERBOX 1

/**
 * As small as covers the rectangle, centred; what stands out is cut off.
 */
#define TENURE_FIT_COVER 2

/**
 * The nearest sample.
 */
#define TENURE_FILTER_NEAREST 0

/**
 * Between the two nearest samples of each axis: OpenCV's INTER_LINEAR.
 */
#define TENURE_FILTER_BILINEAR 1

/**
 * A triangle as wide as the reduction asks: Pillow's bilinear. What is used if none is set.
 */
#define TENURE_FILTER_ANTIALIASED 2

/**
 * The mean over the area of an output pixel: OpenCV's INTER_AREA.
 */
#define TENURE_FILTER_AREA 3

/**
 * Cubic (Catmull-Rom), as wide as the reduction asks.
 */
#define TENURE_FILTER_BICUBIC 4

/**
 * Lanczos with three lobes, as wide as the reduction asks.
 */
#define TENURE_FILTER_LANCZOS3 5

/**
 * As usual for the range of the source.
 */
#define TENURE_SITING_USUAL -1

/**
 * In the middle of the luma samples they belong to: JPEG, MPEG-1.
 */
#define TENURE_SITING_CENTRE 0

/**
 * Across on the left one of them, down in the middle: MPEG-2, H.264, H.265.
 */
#define TENURE_SITING_LEFT 1

/**
 * Something else, or its driver does not say.
 */
#define TENURE_DEVICE_OTHER 0

/**
 * A card with memory of its own.
 */
#define TENURE_DEVICE_DISCRETE 1

/**
 * Shares the memory of the CPU.
 */
#define TENURE_DEVICE_INTEGRATED 2

/**
 * Part of a virtual machine.
 */
#define TENURE_DEVICE_VIRTUAL 3

/**
 * A program on the CPU.
 */
#define TENURE_DEVICE_SOFTWARE 4

/**
 * Nothing but good manners: a DMA-BUF whose exporter lets everybody write that has it.
 */
#define TENURE_GUARDED_OPEN 0

/**
 * The kernel, by seals that nobody can take off.
 */
#define TENURE_GUARDED_SEALED 1

/**
 * The kernel, by giving out a descriptor for reading only.
 */
#define TENURE_GUARDED_READ_ONLY 2

/**
 * JPEG.
 */
#define TENURE_PICTURE_JPEG 0

/**
 * PNG.
 */
#define TENURE_PICTURE_PNG 1

/**
 * None: nothing is placed, and every buffer has memory of its own.
 */
#define TENURE_MODE_DISABLED 0

/**
 * Buffers of one type and size that are not in use at the same time share one allocation.
 */
#define TENURE_MODE_REMAP 1

/**
 * All buffers of a device and lane are packed into one arena.
 */
#define TENURE_MODE_ARENA 2

/**
 * Replay in the order of time through a two-level segregated fit allocator.
 */
#define TENURE_PACKER_TLSF 0

/**
 * Replay in the order of time, each buffer into the smallest gap that holds it.
 */
#define TENURE_PACKER_BEST_FIT 1

/**
 * The largest first, each into the smallest gap that holds it.
 */
#define TENURE_PACKER_GREEDY_SIZE 2

/**
 * The best of the others, then a search for the minimum within a budget.
 */
#define TENURE_PACKER_BEST 3

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The whole source stretched over the whole destination; the other functions change that.
 *
 * # Safety
 * `convert` is null or valid.
 */
tenure_status_t tenure_convert_new(struct tenure_convert_t **convert);

/**
 * Gives a description back; null is fine.
 *
 * # Safety
 * `convert` is null or a description that nobody uses any more.
 */
void tenure_convert_free(struct tenure_convert_t *convert);

/**
 * Takes only this part of the source.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile.
 */
tenure_status_t tenure_convert_set_crop(struct tenure_convert_t *convert,
                                        size_t x,
                                        size_t y,
                                        size_t width,
                                        size_t height);

/**
 * Writes only this part of the destination.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile.
 */
tenure_status_t tenure_convert_set_into(struct tenure_convert_t *convert,
                                        size_t x,
                                        size_t y,
                                        size_t width,
                                        size_t height);

/**
 * Fits a picture of another shape so. `fill` has red, green, blue and alpha of what a letterbox
 * leaves, before normalisation; null for opaque black.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile; `fill` is null or has four
 * bytes.
 */
tenure_status_t tenure_convert_set_fit(struct tenure_convert_t *convert,
                                       tenure_fit_t fit,
                                       const uint8_t *fill);

/**
 * Turns the picture clockwise by 0, 90, 180 or 270 degrees, then mirrors it.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile.
 */
tenure_status_t tenure_convert_set_turn(struct tenure_convert_t *convert,
                                        uint32_t degrees,
                                        bool flip_horizontal,
                                        bool flip_vertical);

/**
 * Takes samples so.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile.
 */
tenure_status_t tenure_convert_set_filter(struct tenure_convert_t *convert, tenure_filter_t filter);

/**
 * Reads the source with these colours, whatever it says itself, and takes its chroma samples to
 * lie here.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile.
 */
tenure_status_t tenure_convert_set_colour(struct tenure_convert_t *convert,
                                          tenure_matrix_t matrix,
                                          tenure_range_t range,
                                          tenure_siting_t siting);

/**
 * Stores `(value * scale - mean) / std` of values from 0 to 255, in red, green and blue. Null is
 * a mean of 0 and a deviation of 1.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile; `mean` and `std` are null
 * or have three numbers.
 */
tenure_status_t tenure_convert_set_normalize(struct tenure_convert_t *convert,
                                             float scale,
                                             const float *mean,
                                             const float *std);

/**
 * Stores integers with this scale and zero point, instead of those of the destination.
 *
 * # Safety
 * `convert` is null or a description that nobody else uses meanwhile.
 */
tenure_status_t tenure_convert_set_quantize(struct tenure_convert_t *convert,
                                            float scale,
                                            int32_t zero_point);

/**
 * A tensor over somebody's memory, from its first byte: a memory file, a DMA-BUF. The descriptor
 * is duplicated: the caller keeps and closes its own.
 *
 * # Safety
 * Pointers are null or valid; nobody closes `fd` meanwhile.
 */
tenure_status_t tenure_tensor_from_fd(int fd,
                                      const size_t *shape,
                                      size_t rank,
                                      tenure_dtype_t dtype,
                                      const char *name,
                                      struct tenure_tensor_t **tensor);

/**
 * An image in somebody's memory: one place for all planes, or one for each. Descriptors are
 * duplicated: the caller keeps and closes its own.
 *
 * # Safety
 * `planes` has `count` entries, whose descriptors nobody closes meanwhile; `tensor` is null or
 * valid.
 */
tenure_status_t tenure_image_from_planes(const struct tenure_plane_t *planes,
                                         size_t count,
                                         size_t width,
                                         size_t height,
                                         tenure_format_t format,
                                         tenure_dtype_t dtype,
                                         struct tenure_tensor_t **tensor);

/**
 * A new descriptor for the tensor's memory, which the caller closes, and how many bytes of that
 * memory lie before the tensor's (`start` may be null).
 *
 * # Safety
 * `tensor` is null or a handle; the others are null or valid.
 */
tenure_status_t tenure_tensor_clone_fd(const struct tenure_tensor_t *tensor,
                                       int *fd,
                                       size_t *start);

/**
 * A new descriptor for the DMA-BUF that the tensor is in, which the caller closes. An error if
 * its memory is not `TENURE_MEMORY_DMA`.
 *
 * # Safety
 * `tensor` is null or a handle; `fd` is null or valid.
 */
tenure_status_t tenure_tensor_clone_dmabuf(const struct tenure_tensor_t *tensor, int *fd);

/**
 * Sends a tensor over a connected Unix socket (stream or sequenced packets), without copying its
 * bytes. With `read_only` the receiver can only read, and the kernel sees to it, for good.
 *
 * # Safety
 * `tensor` is null or a handle; nobody closes `socket` meanwhile.
 */
tenure_status_t tenure_send(int socket, const struct tenure_tensor_t *tensor, bool read_only);

/**
 * Receives a tensor that another process sent. Everything in the message is checked against the
 * memory that came with it.
 *
 * # Safety
 * `tensor` is null or valid; nobody closes `socket` meanwhile.
 */
tenure_status_t tenure_receive(int socket, struct tenure_tensor_t **tensor);

/**
 * Opens a device by its word, a backend and a number: "vulkan:0". `tenure_devices_list` has them.
 *
 * # Safety
 * `word` is null or a text that ends with a zero; `device` is null or valid.
 */
tenure_status_t tenure_device_open(const char *word, struct tenure_device_t **device);

/**
 * The device's name, for people; valid until the handle is freed.
 *
 * # Safety
 * `device` is null or a device; `name` is null or valid.
 */
tenure_status_t tenure_device_name(const struct tenure_device_t *device, const char **name);

/**
 * Where a memory of the device lives, as `tenure_tensor_space` says it of its tensors.
 * `TENURE_STATUS_UNAVAILABLE` if it has no such memory.
 *
 * # Safety
 * `device` is null or a device; the others are null or valid.
 */
tenure_status_t tenure_device_space(const struct tenure_device_t *device,
                                    tenure_memory_t memory,
                                    tenure_space_t *space,
                                    uint32_t *number);

/**
 * How many queues work side by side.
 *
 * # Safety
 * `device` is null or a device; `queues` is null or valid.
 */
tenure_status_t tenure_device_queues(const struct tenure_device_t *device, size_t *queues);

/**
 * Another handle to the same device, with copies on another of its queues: whatever is allocated
 * through it is copied there.
 *
 * # Safety
 * `device` is null or a device; `other` is null or valid.
 */
tenure_status_t tenure_device_on_queue(const struct tenure_device_t *device,
                                       size_t queue,
                                       struct tenure_device_t **other);

/**
 * A tensor of zeros in memory of the device: `TENURE_MEMORY_DEVICE`, `_PINNED` or `_MANAGED`;
 * `TENURE_MEMORY_AUTO` is its own. Otherwise as `tenure_tensor_new`.
 *
 * # Safety
 * `device` is null or a device; the others are as in `tenure_tensor_new`.
 */
tenure_status_t tenure_device_tensor(const struct tenure_device_t *device,
                                     const size_t *shape,
                                     size_t rank,
                                     tenure_dtype_t dtype,
                                     tenure_memory_t memory,
                                     const char *name,
                                     struct tenure_tensor_t **tensor);

/**
 * An image in memory of the device; otherwise as `tenure_device_tensor` and `tenure_image_new`.
 *
 * # Safety
 * `device` is null or a device; the others are null or valid.
 */
tenure_status_t tenure_device_image(const struct tenure_device_t *device,
                                    size_t width,
                                    size_t height,
                                    tenure_format_t format,
                                    tenure_dtype_t dtype,
                                    tenure_memory_t memory,
                                    const char *name,
                                    struct tenure_tensor_t **tensor);

/**
 * A pool of memory of the device, limited as `tenure_pool_new` says. Tensors from it are zero, as
 * all new ones are: the device fills the memory that somebody had before.
 *
 * # Safety
 * `device` is null or a device; `pool` is null or valid.
 */
tenure_status_t tenure_device_pool(const struct tenure_device_t *device,
                                   tenure_memory_t memory,
                                   size_t bytes,
                                   size_t buffers,
                                   struct tenure_pool_t **pool);

/**
 * A copy of a tensor, wherever it is, in memory of the device. Back again goes `tenure_tensor_to`.
 *
 * # Safety
 * Both are null or handles; `copy` is null or valid.
 */
tenure_status_t tenure_device_to(const struct tenure_device_t *device,
                                 const struct tenure_tensor_t *tensor,
                                 tenure_memory_t memory,
                                 struct tenure_tensor_t **copy);

/**
 * As `tenure_device_to`, while the program goes on: the copy has its elements when `fence` is done.
 * Both tensors are held until then; their handles may be freed before.
 *
 * # Safety
 * Both are null or handles; the others are null or valid.
 */
tenure_status_t tenure_device_to_later(const struct tenure_device_t *device,
                                       const struct tenure_tensor_t *tensor,
                                       tenure_memory_t memory,
                                       struct tenure_tensor_t **copy,
                                       struct tenure_fence_t **fence);

/**
 * Gives a device back; null is fine. Its tensors stay, and keep it open.
 *
 * # Safety
 * `device` is null or a device that nobody uses any more.
 */
void tenure_device_free(struct tenure_device_t *device);

/**
 * Looks for devices of CUDA, HIP, OpenCL and Vulkan, whose libraries are loaded now.
 *
 * # Safety
 * `devices` is null or valid.
 */
tenure_status_t tenure_devices_list(struct tenure_devices_t **devices);

/**
 * How many devices were found, and how many backends have none. Either may be null.
 *
 * # Safety
 * `devices` is null or a list; the others are null or valid.
 */
tenure_status_t tenure_devices_count(const struct tenure_devices_t *devices,
                                     size_t *found,
                                     size_t *missing);

/**
 * A device by its place in the list: the word that `tenure_device_open` takes, its name, its driver,
 * what it is made of, and why it cannot be used (null if it can). Texts are valid until the list is
 * freed; all but `word` may be null.
 *
 * # Safety
 * `devices` is null or a list; the others are null or valid.
 */
tenure_status_t tenure_devices_entry(const struct tenure_devices_t *devices,
                                     size_t index,
                                     const char **word,
                                     const char **name,
                                     const char **driver,
                                     tenure_device_kind_t *kind,
                                     const char **unusable);

/**
 * A heap of a device by their places: its bytes, whether it is the device's own memory, and whether
 * the CPU reaches it. `TENURE_STATUS_NOT_FOUND` after the last. `local` and `mappable` may be null.
 *
 * # Safety
 * `devices` is null or a list; the others are null or valid.
 */
tenure_status_t tenure_devices_heap(const struct tenure_devices_t *devices,
                                    size_t index,
                                    size_t heap,
                                    uint64_t *bytes,
                                    bool *local,
                                    bool *mappable);

/**
 * A backend without devices, and why it has none: no library, driver too old, no device.
 * `TENURE_STATUS_NOT_FOUND` after the last. Texts are valid until the list is freed.
 *
 * # Safety
 * `devices` is null or a list; the others are null or valid.
 */
tenure_status_t tenure_devices_missing(const struct tenure_devices_t *devices,
                                       size_t index,
                                       const char **backend,
                                       const char **reason);

/**
 * Gives a list back; null is fine.
 *
 * # Safety
 * `devices` is null or a list that nobody uses any more.
 */
void tenure_devices_free(struct tenure_devices_t *devices);

/**
 * Lends a tensor to another library, as a structure of DLPack 1. Whoever has it calls its
 * deleter, once, on any thread. Until then the bytes are lent: `tenure_map` is
 * `TENURE_STATUS_BUSY`, and so is `tenure_map_read` unless it is `read_only`.
 *
 * # Safety
 * `tensor` is null or a handle; `managed` is null or valid.
 */
tenure_status_t tenure_tensor_to_dlpack(const struct tenure_tensor_t *tensor,
                                        bool read_only,
                                        DLManagedTensorVersioned **managed);

/**
 * As `tenure_tensor_to_dlpack`, as a structure of DLPack before 1.0, which cannot say that bytes
 * are read-only: those of a read-only tensor are refused.
 *
 * # Safety
 * `tensor` is null or a handle; `managed` is null or valid.
 */
tenure_status_t tenure_tensor_to_dlpack_legacy(const struct tenure_tensor_t *tensor,
                                               DLManagedTensor **managed);

/**
 * A tensor over the memory that a structure of DLPack 1 describes. The structure is taken over,
 * whatever the answer is: its deleter is called when the tensor, its views and maps are gone, or
 * at once if it is refused.
 *
 * # Safety
 * `managed` is null or what a DLPack producer gave to the caller, who has not called its deleter
 * and will not; the memory it describes is valid until then. `tensor` is null or valid.
 */
tenure_status_t tenure_tensor_from_dlpack(DLManagedTensorVersioned *managed,
                                          struct tenure_tensor_t **tensor);

/**
 * As `tenure_tensor_from_dlpack`, of a structure of DLPack before 1.0.
 *
 * # Safety
 * As `tenure_tensor_from_dlpack`.
 */
tenure_status_t tenure_tensor_from_dlpack_legacy(DLManagedTensor *managed,
                                                 struct tenure_tensor_t **tensor);

/**
 * As `tenure_processor_convert`, perhaps done later: `fence` is done when the picture is, and
 * nobody can touch either side until then. A fence that fails tells that the destination is not
 * written. Handles of the tensors may be freed before.
 *
 * # Safety
 * Handles are null or valid; `placement` is null or valid, and `fence` too.
 */
tenure_status_t tenure_processor_convert_later(const struct tenure_processor_t *processor,
                                               const struct tenure_tensor_t *source,
                                               const struct tenure_tensor_t *destination,
                                               const struct tenure_convert_t *convert,
                                               struct tenure_placement_t *placement,
                                               struct tenure_fence_t **fence);

/**
 * The name that `tenure_processor_convert_later` had before version 0.2; deprecated.
 *
 * # Safety
 * As `tenure_processor_convert_later`.
 */
tenure_status_t tenure_processor_convert_async(const struct tenure_processor_t *processor,
                                               const struct tenure_tensor_t *source,
                                               const struct tenure_tensor_t *destination,
                                               const struct tenure_convert_t *convert,
                                               struct tenure_placement_t *placement,
                                               struct tenure_fence_t **fence);

/**
 * Begins a copy of `source` into `tensor`: `fence` is done when the elements are copied. Both tensors
 * are held until then: mapping `tensor`, or writing `source`, is `TENURE_STATUS_BUSY`. Their handles may
 * be freed before. Between memories that the CPU reaches the copy is done at once.
 *
 * # Safety
 * Both are null or handles; `fence` is null or valid.
 */
tenure_status_t tenure_tensor_copy_from_later(const struct tenure_tensor_t *tensor,
                                              const struct tenure_tensor_t *source,
                                              struct tenure_fence_t **fence);

/**
 * A fence of another library or process: a sync file, whose descriptor is duplicated. The caller
 * keeps and closes its own.
 *
 * # Safety
 * Nobody closes `fd` meanwhile; `fence` is null or valid.
 */
tenure_status_t tenure_fence_from_fd(int fd, struct tenure_fence_t **fence);

/**
 * Waits until the work is done, at most so many nanoseconds; 0 only looks, and less than 0 waits
 * without end. Puts out whether it is done.
 *
 * # Safety
 * `fence` is null or a fence; `done` is null or valid.
 */
tenure_status_t tenure_fence_wait(const struct tenure_fence_t *fence,
                                  int64_t nanoseconds,
                                  bool *done);

/**
 * A new descriptor to poll, or to give to another library or process; the caller closes it.
 *
 * # Safety
 * `fence` is null or a fence; `fd` is null or valid.
 */
tenure_status_t tenure_fence_clone_fd(const struct tenure_fence_t *fence, int *fd);

/**
 * Gives a fence back; null is fine. The work goes on.
 *
 * # Safety
 * `fence` is null or a fence that nobody uses any more.
 */
void tenure_fence_free(struct tenure_fence_t *fence);

/**
 * Opens a safetensors, GGUF, npy, npz or raw file, or a folder of safetensors files with an
 * index. Nothing but the head is read.
 *
 * # Safety
 * `path` is null or a text that ends with a zero; `file` is null or valid.
 */
tenure_status_t tenure_file_open(const char *path, struct tenure_file_t **file);

/**
 * How many tensors there are.
 *
 * # Safety
 * `file` is null or a file; `count` is null or valid.
 */
tenure_status_t tenure_file_count(const struct tenure_file_t *file, size_t *count);

/**
 * The name of a tensor by its number, in the order of the file. Valid until the file is freed.
 *
 * # Safety
 * `file` is null or a file; `name` is null or valid.
 */
tenure_status_t tenure_file_name(const struct tenure_file_t *file, size_t index, const char **name);

/**
 * How many things the file says besides its tensors, each a key and a value.
 *
 * # Safety
 * `file` is null or a file; `count` is null or valid.
 */
tenure_status_t tenure_file_metadata_count(const struct tenure_file_t *file, size_t *count);

/**
 * One of the things that the file says, by its number. Valid until the file is freed.
 *
 * # Safety
 * `file` is null or a file; `key` and `value` are null or valid.
 */
tenure_status_t tenure_file_metadata(const struct tenure_file_t *file,
                                     size_t index,
                                     const char **key,
                                     const char **value);

/**
 * A tensor by name: a read-only view of the mapped file, whose pages come from the disk when they
 * are touched (or a copy where no view is possible, as of compressed bytes). It stays when the
 * file is freed.
 *
 * # Safety
 * `file` is null or a file; the others are null or valid.
 */
tenure_status_t tenure_file_tensor(const struct tenure_file_t *file,
                                   const char *name,
                                   struct tenure_tensor_t **tensor);

/**
 * Gives a file back; null is fine. Tensors of it stay.
 *
 * # Safety
 * `file` is null or a file that nobody uses any more.
 */
void tenure_file_free(struct tenure_file_t *file);

/**
 * Brings tensors into memory: those with the `count` `names`, or all if `names` is null, into
 * memory of `pool`, or if that is null into `memory`. `progress` may be null; `context` is passed
 * on to it. All of it is loaded, or nothing.
 *
 * # Safety
 * Pointers are null or valid; `progress` may be called with `context` until this returns.
 */
tenure_status_t tenure_file_load(const struct tenure_file_t *file,
                                 const char *const *names,
                                 size_t count,
                                 tenure_memory_t memory,
                                 const struct tenure_pool_t *pool,
                                 tenure_progress_t progress,
                                 void *context,
                                 struct tenure_loaded_t **loaded);

/**
 * How many tensors were loaded.
 *
 * # Safety
 * `loaded` is null or what was loaded; `count` is null or valid.
 */
tenure_status_t tenure_loaded_count(const struct tenure_loaded_t *loaded, size_t *count);

/**
 * A loaded tensor by its number, in the order of the file, and its name (which may be null),
 * valid until what was loaded is freed. The tensor stays.
 *
 * # Safety
 * `loaded` is null or what was loaded; the others are null or valid.
 */
tenure_status_t tenure_loaded_tensor(const struct tenure_loaded_t *loaded,
                                     size_t index,
                                     const char **name,
                                     struct tenure_tensor_t **tensor);

/**
 * Gives the list of what was loaded back; null is fine. Tensors taken from it stay.
 *
 * # Safety
 * `loaded` is null or what was loaded, which nobody uses any more.
 */
void tenure_loaded_free(struct tenure_loaded_t *loaded);

/**
 * The frame's tensor, a new handle, to read only. It keeps the slot just as the frame does.
 *
 * # Safety
 * `frame` is null or a frame; `tensor` is null or valid.
 */
tenure_status_t tenure_frame_tensor(const struct tenure_frame_t *frame,
                                    struct tenure_tensor_t **tensor);

/**
 * Numbers, times and losses.
 *
 * # Safety
 * `frame` is null or a frame; `info` is null or valid.
 */
tenure_status_t tenure_frame_info(const struct tenure_frame_t *frame,
                                  struct tenure_frame_info_t *info);

/**
 * Bytes of the producer's own: never null, perhaps none. Valid until the frame is released.
 *
 * # Safety
 * `frame` is null or a frame; the others are null or valid.
 */
tenure_status_t tenure_frame_blob(const struct tenure_frame_t *frame,
                                  const void **data,
                                  size_t *bytes);

/**
 * The fence after which the frame is complete, or null if it is: only for subscribers with
 * explicit fences, all others have waited for it.
 *
 * # Safety
 * `frame` is null or a frame; `fence` is null or valid.
 */
tenure_status_t tenure_frame_fence(const struct tenure_frame_t *frame,
                                   struct tenure_fence_t **fence);

/**
 * Releases a frame, to be written again when `fence` is done, because a device still reads it.
 * The frame is gone unless this answers an error.
 *
 * # Safety
 * `frame` is null or a frame that nobody uses any more; `fence` is null or a fence.
 */
tenure_status_t tenure_frame_release_after(struct tenure_frame_t *frame,
                                           const struct tenure_fence_t *fence);

/**
 * Releases a frame; null is fine. Tensors made of it stay, and keep its slot.
 *
 * # Safety
 * `frame` is null or a frame that nobody uses any more.
 */
void tenure_frame_release(struct tenure_frame_t *frame);

/**
 * The text of the last call on this thread that did not answer `TENURE_STATUS_OK`: what was asked,
 * which value was wrong and what would be right. Empty if there was none; never null. Valid until
 * the next such call on this thread.
 */
const char *tenure_last_error(void);

/**
 * An image of zeros; rows are `row_stride` bytes apart, or without padding for 0, in every memory.
 *
 * # Safety
 * Pointers are null or valid; `name` ends with a zero.
 */
tenure_status_t tenure_image_new(size_t width,
                                 size_t height,
                                 tenure_format_t format,
                                 tenure_dtype_t dtype,
                                 size_t row_stride,
                                 tenure_memory_t memory,
                                 const char *name,
                                 struct tenure_tensor_t **tensor);

/**
 * The format, or `TENURE_FORMAT_NONE` for a tensor that is no image.
 *
 * # Safety
 * `tensor` is null or a handle; `format` is null or valid.
 */
tenure_status_t tenure_tensor_format(const struct tenure_tensor_t *tensor, tenure_format_t *format);

/**
 * Says that a tensor is an image (or a batch of them) of this format; its shape must be one that
 * such an image has. No other thread may use the handle meanwhile.
 *
 * # Safety
 * `tensor` is null or a handle that nobody else uses meanwhile.
 */
tenure_status_t tenure_tensor_set_format(struct tenure_tensor_t *tensor, tenure_format_t format);

/**
 * Width and height in pixels, and bytes from one row to the next (of the first plane).
 *
 * # Safety
 * `tensor` is null or a handle; the others are null or valid.
 */
tenure_status_t tenure_image_size(const struct tenure_tensor_t *tensor,
                                  size_t *width,
                                  size_t *height,
                                  size_t *row_stride);

/**
 * How many planes an image has; 1 for a tensor that is no image.
 *
 * # Safety
 * `tensor` is null or a handle; `count` is null or valid.
 */
tenure_status_t tenure_image_plane_count(const struct tenure_tensor_t *tensor, size_t *count);

/**
 * What the tensor says of its colours; `TENURE_MATRIX_NONE` if nothing.
 *
 * # Safety
 * `tensor` is null or a handle; the others are null or valid.
 */
tenure_status_t tenure_tensor_colour(const struct tenure_tensor_t *tensor,
                                     tenure_matrix_t *matrix,
                                     tenure_range_t *range);

/**
 * Says what the numbers of an image mean; with `TENURE_MATRIX_NONE` nothing is said any more.
 *
 * # Safety
 * `tensor` is null or a handle that nobody else uses meanwhile.
 */
tenure_status_t tenure_tensor_set_colour(struct tenure_tensor_t *tensor,
                                         tenure_matrix_t matrix,
                                         tenure_range_t range);

/**
 * Says that integers mean `(stored - zero_point) * scale`.
 *
 * # Safety
 * `tensor` is null or a handle that nobody else uses meanwhile.
 */
tenure_status_t tenure_tensor_set_quantization(struct tenure_tensor_t *tensor,
                                               float scale,
                                               int32_t zero_point);

/**
 * The elements to read and write, where they are; no bytes are copied. Excludes every other use
 * of the same bytes until `tenure_map_release`: `TENURE_STATUS_BUSY` if there is one. The map
 * keeps the bytes, also when the tensor is freed first.
 *
 * # Safety
 * `tensor` is null or a handle; `map` is null or valid.
 */
tenure_status_t tenure_map(const struct tenure_tensor_t *tensor, struct tenure_map_t **map);

/**
 * The elements to read, where they are. Several may read the same bytes; nobody writes them until
 * `tenure_read_release`. `TENURE_STATUS_BUSY` if somebody does now. Of a frame, and of other shared
 * memory that may only be read, a program that casts `const` away and writes changes a copy, which
 * nobody else sees and which is gone with the last map.
 *
 * # Safety
 * `tensor` is null or a handle; `read` is null or valid.
 */
tenure_status_t tenure_map_read(const struct tenure_tensor_t *tensor, struct tenure_read_t **read);

/**
 * The address of the element with all indices 0; other elements are at its strides
 * (`tenure_tensor_strides`). Valid until the map is released. `bytes` is how many bytes the elements
 * are from there on, and null where that is not asked: of a tensor whose elements do not follow each
 * other (a region, padded rows, a permuted view) it is `TENURE_STATUS_UNSUPPORTED`, because the bytes
 * between them belong to others.
 *
 * # Safety
 * `map` is null or a map; the others are null or valid.
 */
tenure_status_t tenure_map_data(const struct tenure_map_t *map,
                                void **data,
                                size_t *bytes);

/**
 * As `tenure_map_data`, to read.
 *
 * # Safety
 * `read` is null or a map to read; the others are null or valid.
 */
tenure_status_t tenure_read_data(const struct tenure_read_t *read,
                                 const void **data,
                                 size_t *bytes);

/**
 * Whether all bytes were there while they were read: `TENURE_STATUS_DAMAGED` if another process
 * cut the mapped file off and zeros were read instead.
 *
 * # Safety
 * `read` is null or a map to read.
 */
tenure_status_t tenure_read_intact(const struct tenure_read_t *read);

/**
 * Ends a map; null is fine. Its addresses are not valid any more.
 *
 * # Safety
 * `map` is null or a map that nobody uses any more.
 */
void tenure_map_release(struct tenure_map_t *map);

/**
 * Ends a map to read; null is fine. Its addresses are not valid any more.
 *
 * # Safety
 * `read` is null or a map to read that nobody uses any more.
 */
void tenure_read_release(struct tenure_read_t *read);

/**
 * What a JPEG or PNG file says about its picture, without decoding it: its size, and the format
 * that `tenure_picture_decode` makes of it.
 *
 * # Safety
 * `bytes` is null or has `count` of them; the others are null or valid.
 */
tenure_status_t tenure_picture_inspect(const uint8_t *bytes,
                                       size_t count,
                                       size_t *width,
                                       size_t *height,
                                       tenure_format_t *format);

/**
 * Decodes a JPEG or PNG file into a new tensor: grey, rgb or rgba, as the file has it, in 8 bits.
 *
 * # Safety
 * `bytes` is null or has `count` of them; `tensor` is null or valid.
 */
tenure_status_t tenure_picture_decode(const uint8_t *bytes,
                                      size_t count,
                                      tenure_memory_t memory,
                                      struct tenure_tensor_t **tensor);

/**
 * Decodes a JPEG or PNG file into an image tensor of its size, of any format that a processor
 * writes. What the tensor contains after damage in the middle of the file is not defined.
 *
 * # Safety
 * `bytes` is null or has `count` of them; `tensor` is null or a handle that nobody else uses
 * meanwhile.
 */
tenure_status_t tenure_picture_decode_into(const uint8_t *bytes,
                                           size_t count,
                                           struct tenure_tensor_t *tensor);

/**
 * Decodes a JPEG or PNG file on the disk, whatever its name; otherwise as
 * `tenure_picture_decode`.
 *
 * # Safety
 * `path` is null or a text that ends with a zero; `tensor` is null or valid.
 */
tenure_status_t tenure_picture_read(const char *path,
                                    tenure_memory_t memory,
                                    struct tenure_tensor_t **tensor);

/**
 * Writes an image of 8 bits as PNG or JPEG, as the name of the file says: a whole file, or what
 * was there before.
 *
 * # Safety
 * `tensor` is null or a handle; `path` is null or a text that ends with a zero.
 */
tenure_status_t tenure_picture_save(const struct tenure_tensor_t *tensor, const char *path);

/**
 * Encodes an image of 8 bits: `taker` gets the bytes of the file one after the other, and
 * `context` with them. `quality` is that of JPEG, 1 to 100.
 *
 * # Safety
 * `tensor` is null or a handle; `taker` may be called with `context` until this returns.
 */
tenure_status_t tenure_picture_encode(const struct tenure_tensor_t *tensor,
                                      tenure_picture_t picture,
                                      uint8_t quality,
                                      tenure_taker_t taker,
                                      void *context);

/**
 * Decides which buffers of a schedule share memory. The same schedule gives the same plan.
 *
 * # Safety
 * `schedule` is null or a schedule; `made` is null or valid.
 */
tenure_status_t tenure_plan_new(const struct tenure_schedule_t *schedule,
                                tenure_mode_t mode_code,
                                tenure_packer_t packer_code,
                                struct tenure_plan_t **made);

/**
 * Bytes of all arenas together (with `TENURE_MODE_DISABLED`, which has none, of all buffers on their
 * own), what no plan can be smaller than, and whether the plan is proven
 * to be the smallest.
 *
 * # Safety
 * `made` is null or a plan; the others are null or valid.
 */
tenure_status_t tenure_plan_bytes(const struct tenure_plan_t *made,
                                  uint64_t *bytes,
                                  uint64_t *lower_bound,
                                  bool *optimal);

/**
 * Where a buffer of the schedule is: the number of its arena, and bytes from its start.
 * `TENURE_STATUS_NOT_FOUND`, with the reason, for a buffer that the plan leaves out.
 *
 * # Safety
 * `made` is null or a plan; the others are null or valid.
 */
tenure_status_t tenure_plan_place(const struct tenure_plan_t *made,
                                  size_t buffer,
                                  size_t *arena,
                                  uint64_t *offset);

/**
 * How many arenas there are.
 *
 * # Safety
 * `made` is null or a plan; `count` is null or valid.
 */
tenure_status_t tenure_plan_arena_count(const struct tenure_plan_t *made, size_t *count);

/**
 * Size and alignment of an arena in bytes, and the device whose memory it is.
 *
 * # Safety
 * `made` is null or a plan; the others are null or valid.
 */
tenure_status_t tenure_plan_arena(const struct tenure_plan_t *made,
                                  size_t index,
                                  uint64_t *bytes,
                                  uint64_t *align,
                                  uint32_t *device);

/**
 * The plan as JSON. Valid until the plan is freed.
 *
 * # Safety
 * `made` is null or a plan; `json` is null or valid.
 */
tenure_status_t tenure_plan_json(const struct tenure_plan_t *made, const char **json);

/**
 * Allocates the arenas of a plan in `memory`, which must be named, and places tensors in them:
 * one for each buffer of the schedule, with its size, made by `tenure_tensor_lazy` and not
 * touched yet. Those that the plan leaves out are not touched: with `TENURE_MODE_DISABLED` all of
 * them, and nothing is allocated. Handles and views made before
 * stay, and have their bytes in the arena from then on.
 *
 * # Safety
 * `schedule` and `made` are null or what the names say; `tensors` has `count` handles.
 */
tenure_status_t tenure_plan_realize(const struct tenure_schedule_t *schedule,
                                    const struct tenure_plan_t *made,
                                    struct tenure_tensor_t *const *tensors,
                                    size_t count,
                                    tenure_memory_t memory);

/**
 * Gives a plan back; null is fine.
 *
 * # Safety
 * `made` is null or a plan that nobody uses any more.
 */
void tenure_plan_free(struct tenure_plan_t *made);

/**
 * A pool of one memory, which must be named, that never has more than so many bytes, in use and
 * kept together, and keeps at most so many buffers; `SIZE_MAX` for no limit. Asking it for more is
 * `TENURE_STATUS_OUT_OF_MEMORY`.
 *
 * # Safety
 * `pool` is null or valid.
 */
tenure_status_t tenure_pool_new(tenure_memory_t memory,
                                size_t bytes,
                                size_t buffers,
                                struct tenure_pool_t **pool);

/**
 * A tensor of zeros from a pool. Its bytes go back to the pool when nobody has them any more.
 *
 * # Safety
 * `pool` is null or a pool; the others are null or valid.
 */
tenure_status_t tenure_pool_tensor(const struct tenure_pool_t *pool,
                                   const size_t *shape,
                                   size_t rank,
                                   tenure_dtype_t dtype,
                                   const char *name,
                                   struct tenure_tensor_t **tensor);

/**
 * An image from a pool; otherwise as `tenure_pool_tensor` and `tenure_image_new`.
 *
 * # Safety
 * `pool` is null or a pool; the others are null or valid.
 */
tenure_status_t tenure_pool_image(const struct tenure_pool_t *pool,
                                  size_t width,
                                  size_t height,
                                  tenure_format_t format,
                                  tenure_dtype_t dtype,
                                  size_t row_stride,
                                  const char *name,
                                  struct tenure_tensor_t **tensor);

/**
 * What a pool did and holds.
 *
 * # Safety
 * `pool` is null or a pool; `report` is null or valid.
 */
tenure_status_t tenure_pool_report(const struct tenure_pool_t *pool,
                                   struct tenure_pool_report_t *report);

/**
 * Gives up everything that a pool keeps.
 *
 * # Safety
 * `pool` is null or a pool.
 */
tenure_status_t tenure_pool_trim(const struct tenure_pool_t *pool);

/**
 * Gives a pool back; null is fine. Tensors from it stay; their bytes are freed when they are.
 *
 * # Safety
 * `pool` is null or a pool that nobody uses any more.
 */
void tenure_pool_free(struct tenure_pool_t *pool);

/**
 * A processor. `engines` are words with commas between them, in the order of trying ("cpu",
 * "gl,cpu"); null for the usual ones. `threads` are those of the CPU engine; 0 for as many as the
 * machine has cores.
 *
 * # Safety
 * Pointers are null or valid; `engines` ends with a zero.
 */
tenure_status_t tenure_processor_new(const char *engines,
                                     size_t threads,
                                     struct tenure_processor_t **processor);

/**
 * Converts `source` into `destination`, as `convert` says (null: the whole of it, stretched), and
 * puts out where the picture lies in it (`placement` may be null). If it answers anything but
 * `TENURE_STATUS_OK`, nothing is written.
 *
 * # Safety
 * Handles are null or valid; `placement` is null or valid.
 */
tenure_status_t tenure_processor_convert(const struct tenure_processor_t *processor,
                                         const struct tenure_tensor_t *source,
                                         const struct tenure_tensor_t *destination,
                                         const struct tenure_convert_t *convert,
                                         struct tenure_placement_t *placement);

/**
 * Converts each source into one element of `batch`, a tensor with a leading dimension more than
 * an image. `placements` is null or has room for `count`.
 *
 * # Safety
 * Handles are null or valid; `sources` has `count` handles; `placements` is null or has room.
 */
tenure_status_t tenure_processor_convert_batch(const struct tenure_processor_t *processor,
                                               struct tenure_tensor_t *const *sources,
                                               size_t count,
                                               const struct tenure_tensor_t *batch,
                                               const struct tenure_convert_t *convert,
                                               struct tenure_placement_t *placements);

/**
 * Gives a processor back; null is fine.
 *
 * # Safety
 * `processor` is null or a processor that nobody uses any more.
 */
void tenure_processor_free(struct tenure_processor_t *processor);

/**
 * Takes the name, and lets consumers in. `TENURE_STATUS_EXISTS` if another producer has the name.
 *
 * # Safety
 * `options` is null or options; `publisher` is null or valid.
 */
tenure_status_t tenure_publisher_open(const struct tenure_publisher_options_t *options,
                                      struct tenure_publisher_t **publisher);

/**
 * A descriptor to poll, for publishers without a thread: readable when `tenure_publisher_serve`
 * has something to do. It is the publisher's, the same one while the publisher lives, and only to
 * be waited for.
 *
 * # Safety
 * `publisher` is null or a publisher; `fd` is null or valid.
 */
tenure_status_t tenure_publisher_fd(const struct tenure_publisher_t *publisher, int *fd);

/**
 * Answers whoever came, gave back or went, without waiting; for publishers without a thread. To be
 * called when the descriptor is readable, and every second or so besides: who connects and says
 * nothing is sent away after 2 seconds, and who hangs as `tenure_publisher_options_set_evict_after`
 * says, when it is called. Publishing does not need it.
 *
 * # Safety
 * `publisher` is null or a publisher.
 */
tenure_status_t tenure_publisher_serve(const struct tenure_publisher_t *publisher);

/**
 * How many consumers there are: those that get the next frame, if they have a credit left.
 *
 * # Safety
 * `publisher` is null or a publisher; `count` is null or valid.
 */
tenure_status_t tenure_publisher_consumers(const struct tenure_publisher_t *publisher,
                                           size_t *count);

/**
 * The stream at this moment: slots, consumers, rates. The same that other processes get from
 * `tenure_stream_stat`.
 *
 * # Safety
 * `publisher` is null or a publisher; `report` is null or valid.
 */
tenure_status_t tenure_publisher_report(const struct tenure_publisher_t *publisher,
                                        struct tenure_stream_report_t **report);

/**
 * Puts a consumer out, by its number in the report. Puts out whether there was such a consumer.
 *
 * # Safety
 * `publisher` is null or a publisher; `evicted` is null or valid.
 */
tenure_status_t tenure_publisher_evict(const struct tenure_publisher_t *publisher,
                                       uint64_t consumer,
                                       bool *evicted);

/**
 * Ends the stream; null is fine. Consumers are told, and what they hold stays valid; slots that
 * are claimed can still be freed, and publish to nobody.
 *
 * # Safety
 * `publisher` is null or a publisher that nobody uses any more.
 */
void tenure_publisher_free(struct tenure_publisher_t *publisher);

/**
 * Options for a stream of this name (letters, digits, `-`, `_`, `.`, and `/` between parts), as
 * usual.
 *
 * # Safety
 * `name` is null or a text that ends with a zero; `options` is null or valid.
 */
tenure_status_t tenure_publisher_options_new(const char *name,
                                             struct tenure_publisher_options_t **options);

/**
 * The directory of the socket, instead of `$TENURE_STREAM_DIR`, `$XDG_RUNTIME_DIR/tenure`,
 * `/run/tenure`, or `/tmp/tenure-UID` without any of them.
 *
 * # Safety
 * `options` is null or options that nobody else uses; `directory` is null or a text that ends
 * with a zero.
 */
tenure_status_t tenure_publisher_options_set_directory(struct tenure_publisher_options_t *options,
                                                       const char *directory);

/**
 * What all frames look like: others are `TENURE_STATUS_INVALID` and not published. Memory for a new
 * consumer is made when it comes and not when the first frame needs it. The description is copied.
 *
 * # Safety
 * `options` is null or options that nobody else uses; `spec` is null or a description.
 */
tenure_status_t tenure_publisher_options_set_spec(struct tenure_publisher_options_t *options,
                                                  const struct tenure_spec_t *spec);

/**
 * What the first frames will look like, so that there is memory for them; later ones may look
 * otherwise. The description is copied.
 *
 * # Safety
 * `options` is null or options that nobody else uses; `spec` is null or a description.
 */
tenure_status_t tenure_publisher_options_set_initial_spec(struct tenure_publisher_options_t *options,
                                                          const struct tenure_spec_t *spec);

/**
 * The memory of slots: `TENURE_MEMORY_SHM`, as if not said or automatic, or `TENURE_MEMORY_DMA`.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_publisher_options_set_memory(struct tenure_publisher_options_t *options,
                                                    tenure_memory_t memory);

/**
 * How many slots may be claimed at one time; 2 if not said.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_publisher_options_set_claims(struct tenure_publisher_options_t *options,
                                                    size_t claims);

/**
 * How many frames all consumers together may hold at one time (192 if not said), and each of them
 * (16 if not said). Once half are granted, later consumers get fewer than they ask for.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_publisher_options_set_credits(struct tenure_publisher_options_t *options,
                                                     size_t all,
                                                     size_t each);

/**
 * Puts a consumer out that has held all its frames for so many nanoseconds; with 0, as if not
 * said, it keeps them and gets no others.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_publisher_options_set_evict_after(struct tenure_publisher_options_t *options,
                                                         uint64_t nanoseconds);

/**
 * Who may subscribe, besides processes of the same user or group, who always may: `allow` is
 * asked about others when they come. It is called on the stream's thread, or, if the publisher has
 * none, on the thread that calls `tenure_publisher_serve`; with several publishers of these options
 * perhaps on several threads at one time. Whoever waits to be let in waits for its answer. It must
 * not use the publisher that it is asked for.
 *
 * `context` is handed to it. `free_context`, which may be null, is called with it exactly once,
 * when these options and all publishers opened with them have been freed or another callback was
 * set, on whichever thread lets go of it last; also if this call does not succeed. A null `allow`
 * is as if not said.
 *
 * # Safety
 * `options` is null or options that nobody else uses. `allow` and `free_context` are null or
 * functions that any thread may call with `context`.
 */
tenure_status_t tenure_publisher_options_set_allow(struct tenure_publisher_options_t *options,
                                                   tenure_allow_t allow,
                                                   void *context,
                                                   tenure_free_context_t free_context);

/**
 * Publishers without a thread of their own, if it is false: `tenure_publisher_serve` has to be
 * called to let consumers in. True if not said.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_publisher_options_set_thread(struct tenure_publisher_options_t *options,
                                                    bool thread);

/**
 * Gives options back; null is fine. Publishers opened with them go on.
 *
 * # Safety
 * `options` is null or options that nobody uses any more.
 */
void tenure_publisher_options_free(struct tenure_publisher_options_t *options);

/**
 * A slot to fill, for a frame that looks like `spec`, or with null like the one before. Its bytes
 * are what the last frame in it left. `TENURE_STATUS_BUSY` if too many are claimed already.
 *
 * # Safety
 * `publisher` is null or a publisher, `spec` null or a description; `slot` is null or valid.
 */
tenure_status_t tenure_publisher_claim(const struct tenure_publisher_t *publisher,
                                       const struct tenure_spec_t *spec,
                                       struct tenure_slot_t **slot);

/**
 * Publishes a tensor that lives in shared memory or a DMA-BUF, as it is: nothing is copied. Its
 * memory is kept from being written in this process until the last consumer has let go, and
 * shared memory is sealed for good. `meta` and `receipt` may be null.
 *
 * # Safety
 * Handles are null or valid; `meta` and what it points to, and `receipt`, are null or valid.
 */
tenure_status_t tenure_publisher_publish(const struct tenure_publisher_t *publisher,
                                         const struct tenure_tensor_t *tensor,
                                         const struct tenure_frame_meta_t *meta,
                                         struct tenure_receipt_t *receipt);

/**
 * Publishes a copy of a tensor in any memory; otherwise as `tenure_publisher_publish`.
 *
 * # Safety
 * As `tenure_publisher_publish`.
 */
tenure_status_t tenure_publisher_publish_copy(const struct tenure_publisher_t *publisher,
                                              const struct tenure_tensor_t *tensor,
                                              const struct tenure_frame_meta_t *meta,
                                              struct tenure_receipt_t *receipt);

/**
 * Saves tensors as a safetensors file, which is there when this returns, whole and on the disk,
 * or is what it was before.
 *
 * # Safety
 * `names` and `tensors` have `count` entries, which are valid; texts end with a zero.
 */
tenure_status_t tenure_save_safetensors(const char *path,
                                        const char *const *names,
                                        struct tenure_tensor_t *const *tensors,
                                        size_t count);

/**
 * As `tenure_save_safetensors`, with `entries` keys and values besides the tensors.
 *
 * # Safety
 * `names` and `tensors` have `count` entries, `keys` and `values` have `entries`, which are
 * valid; texts end with a zero.
 */
tenure_status_t tenure_save_safetensors_with_metadata(const char *path,
                                                      const char *const *names,
                                                      struct tenure_tensor_t *const *tensors,
                                                      size_t count,
                                                      const char *const *keys,
                                                      const char *const *values,
                                                      size_t entries);

/**
 * Saves a tensor as an npy file; otherwise as `tenure_save_safetensors`.
 *
 * # Safety
 * `tensor` is null or a handle; `path` is null or a text that ends with a zero.
 */
tenure_status_t tenure_save_npy(const char *path, const struct tenure_tensor_t *tensor);

/**
 * A schedule without steps and buffers.
 *
 * # Safety
 * `schedule` is null or valid.
 */
tenure_status_t tenure_schedule_new(struct tenure_schedule_t **schedule);

/**
 * A schedule from JSON, as `tenure plan` takes it.
 *
 * # Safety
 * `json` is null or a text that ends with a zero; `schedule` is null or valid.
 */
tenure_status_t tenure_schedule_from_json(const char *json, struct tenure_schedule_t **schedule);

/**
 * Adds a buffer and puts out its number. `align` is a power of two, or 0 for 256; `flags` are
 * `TENURE_BUFFER_…`, or 0. Only buffers of one element type share an allocation in the mode
 * `TENURE_MODE_REMAP`.
 *
 * # Safety
 * `schedule` is null or a schedule that nobody else uses meanwhile; the others are null or valid.
 */
tenure_status_t tenure_schedule_add_buffer(struct tenure_schedule_t *schedule,
                                           const char *name,
                                           uint64_t bytes,
                                           uint64_t align,
                                           tenure_dtype_t dtype,
                                           uint32_t flags,
                                           size_t *index);

/**
 * Adds a step that reads and writes buffers, by their numbers.
 *
 * # Safety
 * `schedule` is null or a schedule that nobody else uses meanwhile; `reads` has `read_count`
 * numbers, `writes` has `write_count`.
 */
tenure_status_t tenure_schedule_add_step(struct tenure_schedule_t *schedule,
                                         const char *name,
                                         const size_t *reads,
                                         size_t read_count,
                                         const size_t *writes,
                                         size_t write_count);

/**
 * Gives a schedule back; null is fine.
 *
 * # Safety
 * `schedule` is null or a schedule that nobody uses any more.
 */
void tenure_schedule_free(struct tenure_schedule_t *schedule);

/**
 * The tensor to fill, a new handle. Kept past `tenure_slot_publish` it is a private copy, and so
 * are its maps and views: nothing that is written there reaches the frame.
 *
 * # Safety
 * `slot` is null or a slot; `tensor` is null or valid.
 */
tenure_status_t tenure_slot_tensor(const struct tenure_slot_t *slot,
                                   struct tenure_tensor_t **tensor);

/**
 * Publishes the frame to all consumers that have a credit left, and waits for none of them.
 * `meta` and `receipt` may be null. `TENURE_STATUS_BUSY` if a copy or a device still works on the
 * tensor; if it is not published, for this or another reason, the slot is given up, but for null
 * pointers.
 *
 * # Safety
 * `slot` is null or a slot that nobody else uses; `meta` and what it points to, and `receipt`,
 * are null or valid.
 */
tenure_status_t tenure_slot_publish(struct tenure_slot_t *slot,
                                    const struct tenure_frame_meta_t *meta,
                                    struct tenure_receipt_t *receipt);

/**
 * Gives a slot back; null is fine. One that was not published is given up.
 *
 * # Safety
 * `slot` is null or a slot that nobody uses any more.
 */
void tenure_slot_free(struct tenure_slot_t *slot);

/**
 * Frames of elements without gaps.
 *
 * # Safety
 * Pointers are null or valid; `shape` has `rank` numbers.
 */
tenure_status_t tenure_spec_tensor(const size_t *shape,
                                   size_t rank,
                                   tenure_dtype_t dtype,
                                   struct tenure_spec_t **spec);

/**
 * Frames that are images, with rows `row_stride` bytes apart, or without padding for 0.
 *
 * # Safety
 * `spec` is null or valid.
 */
tenure_status_t tenure_spec_image(size_t width,
                                  size_t height,
                                  tenure_format_t format,
                                  tenure_dtype_t dtype,
                                  size_t row_stride,
                                  struct tenure_spec_t **spec);

/**
 * Frames that look like a tensor, without its gaps.
 *
 * # Safety
 * `tensor` is null or a handle; `spec` is null or valid.
 */
tenure_status_t tenure_spec_like(const struct tenure_tensor_t *tensor, struct tenure_spec_t **spec);

/**
 * Says what the numbers of images mean; `TENURE_MATRIX_NONE` changes nothing.
 *
 * # Safety
 * `spec` is null or one that nobody else uses meanwhile.
 */
tenure_status_t tenure_spec_set_colour(struct tenure_spec_t *spec,
                                       tenure_matrix_t matrix,
                                       tenure_range_t range);

/**
 * Gives a description of frames back; null is fine.
 *
 * # Safety
 * `spec` is null or one that nobody uses any more.
 */
void tenure_spec_free(struct tenure_spec_t *spec);

/**
 * The streams in a directory, in order of their names; null is the usual one.
 *
 * # Safety
 * `directory` is null or a text that ends with a zero; `streams` is null or valid.
 */
tenure_status_t tenure_streams_list(const char *directory, struct tenure_streams_t **streams);

/**
 * How many streams there are.
 *
 * # Safety
 * `streams` is null or a list; `count` is null or valid.
 */
tenure_status_t tenure_streams_count(const struct tenure_streams_t *streams, size_t *count);

/**
 * A stream by its number: its name, the path of its socket and whether somebody publishes there
 * (a producer that was killed leaves its socket behind). Texts are valid until the list is freed;
 * `path` and `alive` may be null.
 *
 * # Safety
 * `streams` is null or a list; the others are null or valid.
 */
tenure_status_t tenure_streams_entry(const struct tenure_streams_t *streams,
                                     size_t index,
                                     const char **name,
                                     const char **path,
                                     bool *alive);

/**
 * Gives a list back; null is fine.
 *
 * # Safety
 * `streams` is null or a list that nobody uses any more.
 */
void tenure_streams_free(struct tenure_streams_t *streams);

/**
 * Asks the producer of a stream about it. `directory` may be null for the usual one.
 * `TENURE_STATUS_NOT_FOUND` if nobody publishes the stream, `TENURE_STATUS_NO_ANSWER`,
 * `TENURE_STATUS_REFUSED` if this user may not know.
 *
 * # Safety
 * `directory` and `name` are null or texts that end with a zero; `report` is null or valid.
 */
tenure_status_t tenure_stream_stat(const char *directory,
                                   const char *name,
                                   struct tenure_stream_report_t **report);

/**
 * The numbers that are asked for most.
 *
 * # Safety
 * `report` is null or a report; `figures` is null or valid.
 */
tenure_status_t tenure_stream_report_figures(const struct tenure_stream_report_t *report,
                                             struct tenure_stream_figures_t *figures);

/**
 * All of it as JSON, as `tenure stream stat --json` prints it: every slot and every consumer.
 * Valid until the report is freed.
 *
 * # Safety
 * `report` is null or a report; `json` is null or valid.
 */
tenure_status_t tenure_stream_report_json(const struct tenure_stream_report_t *report,
                                          const char **json);

/**
 * Gives a report back; null is fine.
 *
 * # Safety
 * `report` is null or a report that nobody uses any more.
 */
void tenure_stream_report_free(struct tenure_stream_report_t *report);

/**
 * Options for a stream of this name, as usual.
 *
 * # Safety
 * `name` is null or a text that ends with a zero; `options` is null or valid.
 */
tenure_status_t tenure_subscriber_options_new(const char *name,
                                              struct tenure_subscriber_options_t **options);

/**
 * The directory of the socket, instead of `$TENURE_STREAM_DIR`, `$XDG_RUNTIME_DIR/tenure`,
 * `/run/tenure`, or `/tmp/tenure-UID` without any of them.
 *
 * # Safety
 * `options` is null or options that nobody else uses; `directory` is null or a text that ends
 * with a zero.
 */
tenure_status_t tenure_subscriber_options_set_directory(struct tenure_subscriber_options_t *options,
                                                        const char *directory);

/**
 * How many frames to hold at one time, those included that wait to be read; 3 if not said. The
 * producer may grant fewer.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_credits(struct tenure_subscriber_options_t *options,
                                                      uint32_t credits);

/**
 * Opening waits so many nanoseconds for somebody to publish the stream, or without end if it is
 * less than 0; not at all if not said.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_wait(struct tenure_subscriber_options_t *options,
                                                   int64_t nanoseconds);

/**
 * When the stream ends, waits for the next producer of that name instead of saying so.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_follow(struct tenure_subscriber_options_t *options,
                                                     bool follow);

/**
 * Gives frames out before devices are done with them: the user waits for `tenure_frame_fence`.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_explicit_fences(struct tenure_subscriber_options_t *options,
                                                              bool explicit_fences);

/**
 * Waits for the next frame also while all credits are held, if it is true: for programs that
 * release frames in another thread. False if not said: to wait for a frame that cannot come is then
 * `TENURE_STATUS_BUSY`.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_wait_when_full(struct tenure_subscriber_options_t *options,
                                                             bool wait_when_full);

/**
 * Accepts a stream of this user too, in a directory of this user. If not said, a producer must be
 * of this user, root, the owner of the directory, or of this process's group.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_producer_uid(struct tenure_subscriber_options_t *options,
                                                           uint32_t uid);

/**
 * How many bytes of the producer's memory may be mapped at one time, and in how many memories,
 * each of which takes a descriptor; 0 for what is usual: half of the machine's memory, half of the
 * descriptors that this process may have. Frames beyond that are `TENURE_STATUS_OUT_OF_MEMORY`.
 *
 * # Safety
 * `options` is null or options that nobody else uses.
 */
tenure_status_t tenure_subscriber_options_set_limits(struct tenure_subscriber_options_t *options,
                                                     size_t bytes,
                                                     size_t memories);

/**
 * Gives options back; null is fine. Subscribers opened with them go on.
 *
 * # Safety
 * `options` is null or options that nobody uses any more.
 */
void tenure_subscriber_options_free(struct tenure_subscriber_options_t *options);

/**
 * Subscribes. `TENURE_STATUS_NOT_FOUND` if nobody publishes the stream, `TENURE_STATUS_REFUSED`
 * with the producer's reason, `TENURE_STATUS_NO_ANSWER` if it hangs.
 *
 * # Safety
 * `options` is null or options; `subscriber` is null or valid.
 */
tenure_status_t tenure_subscriber_open(const struct tenure_subscriber_options_t *options,
                                       struct tenure_subscriber_t **subscriber);

/**
 * The next frame, waiting for it at most so many nanoseconds; 0 only looks, and less than 0 waits
 * without end. Puts out null if none came. `TENURE_STATUS_CLOSED` if the producer ended the stream
 * or died (unless the subscriber follows), `TENURE_STATUS_EVICTED` if it put this consumer out,
 * `TENURE_STATUS_BUSY` at once if it would wait while all frames that may be held are (see
 * `tenure_subscriber_options_set_wait_when_full`).
 *
 * # Safety
 * `subscriber` is null or a subscriber that nobody else uses; `frame` is null or valid.
 */
tenure_status_t tenure_subscriber_next(struct tenure_subscriber_t *subscriber,
                                       int64_t nanoseconds,
                                       struct tenure_frame_t **frame);

/**
 * The newest frame that is here already, giving back those before it; null if there is none, and
 * `TENURE_STATUS_BUSY` if none can be because all frames that may be held are. Otherwise as
 * `tenure_subscriber_next`.
 *
 * # Safety
 * As `tenure_subscriber_next`.
 */
tenure_status_t tenure_subscriber_latest(struct tenure_subscriber_t *subscriber,
                                         struct tenure_frame_t **frame);

/**
 * A descriptor to poll: readable when there may be a frame. It is the subscriber's and only to be
 * waited for. It stays the same, after `tenure_subscriber_reopen` too.
 *
 * # Safety
 * `subscriber` is null or a subscriber; `fd` is null or valid.
 */
tenure_status_t tenure_subscriber_fd(const struct tenure_subscriber_t *subscriber, int *fd);

/**
 * How many frames are held at this moment, their tensors, maps and exports included. None comes
 * while these are all credits.
 *
 * # Safety
 * `subscriber` is null or a subscriber; `held` is null or valid.
 */
tenure_status_t tenure_subscriber_held(const struct tenure_subscriber_t *subscriber, size_t *held);

/**
 * Credits, and how many frames did not come.
 *
 * # Safety
 * `subscriber` is null or a subscriber; `figures` is null or valid.
 */
tenure_status_t tenure_subscriber_figures(const struct tenure_subscriber_t *subscriber,
                                          struct tenure_subscriber_figures_t *figures);

/**
 * Subscribes again after the stream ended, waiting at most so many nanoseconds for a producer, or
 * without end if it is less than 0. Frames that are held stay valid.
 *
 * # Safety
 * `subscriber` is null or a subscriber that nobody else uses.
 */
tenure_status_t tenure_subscriber_reopen(struct tenure_subscriber_t *subscriber,
                                         int64_t nanoseconds);

/**
 * Ends a subscription; null is fine. Frames that are held stay valid.
 *
 * # Safety
 * `subscriber` is null or a subscriber that nobody uses any more.
 */
void tenure_subscriber_free(struct tenure_subscriber_t *subscriber);

/**
 * A tensor of zeros. `shape` has `rank` numbers; `name` is for reports and error messages and may
 * be null. With `TENURE_MEMORY_AUTO` the first memory that serves is taken.
 *
 * # Safety
 * Pointers are null or valid; `name` ends with a zero.
 */
tenure_status_t tenure_tensor_new(const size_t *shape,
                                  size_t rank,
                                  tenure_dtype_t dtype,
                                  tenure_memory_t memory,
                                  const char *name,
                                  struct tenure_tensor_t **tensor);

/**
 * A tensor whose bytes are allocated when it is first touched, or placed in an arena before that
 * (`tenure_plan_realize`). The memory must be named.
 *
 * # Safety
 * As `tenure_tensor_new`.
 */
tenure_status_t tenure_tensor_lazy(const size_t *shape,
                                   size_t rank,
                                   tenure_dtype_t dtype,
                                   tenure_memory_t memory,
                                   const char *name,
                                   struct tenure_tensor_t **tensor);

/**
 * Another handle to the same elements. No bytes are copied.
 *
 * # Safety
 * `tensor` is null or a handle; `clone` is null or valid.
 */
tenure_status_t tenure_tensor_clone(const struct tenure_tensor_t *tensor,
                                    struct tenure_tensor_t **clone);

/**
 * A copy of the elements without gaps, in another memory or in the same. For memory of a device there
 * are `tenure_device_to` and `tenure_tensor_to_space`.
 *
 * # Safety
 * `tensor` is null or a handle; `copy` is null or valid.
 */
tenure_status_t tenure_tensor_to(const struct tenure_tensor_t *tensor,
                                 tenure_memory_t memory,
                                 struct tenure_tensor_t **copy);

/**
 * A copy of the elements without gaps in a space: main memory, or that of a device that is open. Where
 * several have it, it is the device that the tensor is on, else the one that was opened first.
 * `device` is which one for `TENURE_SPACE_GPU`, and not looked at elsewhere.
 *
 * # Safety
 * `tensor` is null or a handle; `copy` is null or valid.
 */
tenure_status_t tenure_tensor_to_space(const struct tenure_tensor_t *tensor,
                                       tenure_space_t space,
                                       uint32_t device,
                                       struct tenure_tensor_t **copy);

/**
 * Copies the elements of `source` into `tensor`: the same shape and element type, any strides, either
 * of them on a device.
 *
 * # Safety
 * Both are null or handles.
 */
tenure_status_t tenure_tensor_copy_from(const struct tenure_tensor_t *tensor,
                                        const struct tenure_tensor_t *source);

/**
 * Gives a handle back; null is fine. The bytes are freed when no handle, map or export of them
 * is left.
 *
 * # Safety
 * `tensor` is null or a handle that nobody uses any more.
 */
void tenure_tensor_free(struct tenure_tensor_t *tensor);

/**
 * Elements per dimension: `rank` numbers, valid until the handle is freed or changed.
 *
 * # Safety
 * `tensor` is null or a handle; the others are null or valid.
 */
tenure_status_t tenure_tensor_shape(const struct tenure_tensor_t *tensor,
                                    const size_t **shape,
                                    size_t *rank);

/**
 * Elements (not bytes) between neighbours of each dimension: `rank` numbers, valid until the
 * handle is freed or changed.
 *
 * # Safety
 * `tensor` is null or a handle; the others are null or valid.
 */
tenure_status_t tenure_tensor_strides(const struct tenure_tensor_t *tensor,
                                      const ptrdiff_t **strides,
                                      size_t *rank);

/**
 * The element type.
 *
 * # Safety
 * `tensor` is null or a handle; `dtype` is null or valid.
 */
tenure_status_t tenure_tensor_dtype(const struct tenure_tensor_t *tensor, tenure_dtype_t *dtype);

/**
 * Bytes of all elements without gaps.
 *
 * # Safety
 * `tensor` is null or a handle; `bytes` is null or valid.
 */
tenure_status_t tenure_tensor_bytes(const struct tenure_tensor_t *tensor, size_t *bytes);

/**
 * The mechanism that the bytes were obtained with.
 *
 * # Safety
 * `tensor` is null or a handle; `memory` is null or valid.
 */
tenure_status_t tenure_tensor_memory(const struct tenure_tensor_t *tensor, tenure_memory_t *memory);

/**
 * Where the bytes live, and for `TENURE_SPACE_GPU` on which device (0 elsewhere).
 *
 * # Safety
 * `tensor` is null or a handle; the others are null or valid.
 */
tenure_status_t tenure_tensor_space(const struct tenure_tensor_t *tensor,
                                    tenure_space_t *space,
                                    uint32_t *device);

/**
 * The name, or null if it has none. Valid until the handle is freed.
 *
 * # Safety
 * `tensor` is null or a handle; `name` is null or valid.
 */
tenure_status_t tenure_tensor_name(const struct tenure_tensor_t *tensor, const char **name);

/**
 * Whether elements may be written.
 *
 * # Safety
 * `tensor` is null or a handle; `writable` is null or valid.
 */
tenure_status_t tenure_tensor_is_writable(const struct tenure_tensor_t *tensor, bool *writable);

/**
 * Whether some byte belongs to both.
 *
 * # Safety
 * Both are null or handles; `aliases` is null or valid.
 */
tenure_status_t tenure_tensor_aliases(const struct tenure_tensor_t *tensor,
                                      const struct tenure_tensor_t *other,
                                      bool *aliases);

/**
 * The version of the binary interface that this library has. A program that finds another than
 * the `TENURE_ABI_VERSION` it was compiled with must not go on.
 */
uint32_t tenure_abi_version(void);

/**
 * The version of this library, such as "0.1.0".
 */
const char *tenure_version(void);

/**
 * Every `step`th of the indices `start` up to, without, `end` of dimension `axis`.
 *
 * # Safety
 * `tensor` is null or a handle; `view` is null or valid.
 */
tenure_status_t tenure_tensor_slice(const struct tenure_tensor_t *tensor,
                                    size_t axis,
                                    size_t start,
                                    size_t end,
                                    size_t step,
                                    struct tenure_tensor_t **view);

/**
 * One index of dimension `axis`, which disappears.
 *
 * # Safety
 * `tensor` is null or a handle; `view` is null or valid.
 */
tenure_status_t tenure_tensor_index(const struct tenure_tensor_t *tensor,
                                    size_t axis,
                                    size_t index,
                                    struct tenure_tensor_t **view);

/**
 * The same elements in another shape; an error if gaps stand against it.
 *
 * # Safety
 * `tensor` is null or a handle; `shape` has `rank` numbers; `view` is null or valid.
 */
tenure_status_t tenure_tensor_reshape(const struct tenure_tensor_t *tensor,
                                      const size_t *shape,
                                      size_t rank,
                                      struct tenure_tensor_t **view);

/**
 * The dimensions in another order: dimension `i` of the view is `axes[i]` of the tensor.
 *
 * # Safety
 * `tensor` is null or a handle; `axes` has `rank` numbers; `view` is null or valid.
 */
tenure_status_t tenure_tensor_permute(const struct tenure_tensor_t *tensor,
                                      const size_t *axes,
                                      size_t rank,
                                      struct tenure_tensor_t **view);

/**
 * Dimensions of 1 repeated, and leading ones added, to reach `shape`. Such a view can be read, not
 * mapped to write: one place stands for many elements.
 *
 * # Safety
 * `tensor` is null or a handle; `shape` has `rank` numbers; `view` is null or valid.
 */
tenure_status_t tenure_tensor_broadcast_to(const struct tenure_tensor_t *tensor,
                                           const size_t *shape,
                                           size_t rank,
                                           struct tenure_tensor_t **view);

/**
 * One element of the leading dimension; a batch of images gives an image.
 *
 * # Safety
 * `tensor` is null or a handle; `view` is null or valid.
 */
tenure_status_t tenure_tensor_batch(const struct tenure_tensor_t *tensor,
                                    size_t index,
                                    struct tenure_tensor_t **view);

/**
 * The pixels of an image inside a rectangle, as an image over the same bytes.
 *
 * # Safety
 * `tensor` is null or a handle; `view` is null or valid.
 */
tenure_status_t tenure_tensor_region(const struct tenure_tensor_t *tensor,
                                     size_t x,
                                     size_t y,
                                     size_t width,
                                     size_t height,
                                     struct tenure_tensor_t **view);

/**
 * One plane of an image as a tensor of its own over the same bytes.
 *
 * # Safety
 * `tensor` is null or a handle; `view` is null or valid.
 */
tenure_status_t tenure_tensor_plane(const struct tenure_tensor_t *tensor,
                                    size_t plane,
                                    struct tenure_tensor_t **view);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TENURE_H */
