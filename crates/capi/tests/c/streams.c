/* A stream within one process: options, slots, frames, reports, and everything that is refused. */
#include "check.h"
#include <poll.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

static tenure_publisher_t *publisher(const char *directory, const char *name, size_t rank) {
    const size_t shape[] = {4};
    tenure_publisher_options_t *options = NULL;
    tenure_publisher_t *publisher = NULL;
    tenure_spec_t *spec = NULL;
    OK(tenure_publisher_options_new(name, &options));
    OK(tenure_publisher_options_set_directory(options, directory));
    if (rank > 0) {
        OK(tenure_spec_tensor(shape, rank, TENURE_DTYPE_F32, &spec));
        OK(tenure_publisher_options_set_spec(options, spec));
    }
    OK(tenure_publisher_options_set_claims(options, 2));
    OK(tenure_publisher_options_set_credits(options, 8, 4));
    OK(tenure_publisher_open(options, &publisher));
    tenure_publisher_options_free(options);
    tenure_spec_free(spec);
    return publisher;
}

static tenure_subscriber_t *subscriber(const char *directory, const char *name, uint32_t credits) {
    tenure_subscriber_options_t *options = NULL;
    tenure_subscriber_t *subscriber = NULL;
    OK(tenure_subscriber_options_new(name, &options));
    OK(tenure_subscriber_options_set_directory(options, directory));
    OK(tenure_subscriber_options_set_credits(options, credits));
    OK(tenure_subscriber_open(options, &subscriber));
    tenure_subscriber_options_free(options);
    return subscriber;
}

/* Claims a slot and fills it with a number. */
static tenure_slot_t *filled(tenure_publisher_t *publisher, float value) {
    tenure_slot_t *slot = NULL;
    tenure_tensor_t *tensor = NULL;
    tenure_map_t *map = NULL;
    void *data = NULL;
    size_t bytes = 0;
    OK(tenure_publisher_claim(publisher, NULL, &slot));
    OK(tenure_slot_tensor(slot, &tensor));
    OK(tenure_map(tensor, &map));
    OK(tenure_map_data(map, &data, &bytes));
    for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)data)[i] = value;
    tenure_map_release(map);
    tenure_tensor_free(tensor);
    return slot;
}

static float value(const tenure_frame_t *frame) {
    tenure_tensor_t *tensor = NULL;
    float found;
    OK(tenure_frame_tensor(frame, &tensor));
    found = first(tensor);
    tenure_tensor_free(tensor);
    return found;
}

/* From a filled slot to a frame, with everything that travels. */
static void round_trip(const char *directory) {
    tenure_publisher_t *out = publisher(directory, "trip", 1);
    tenure_subscriber_t *in = subscriber(directory, "trip", 3);
    tenure_slot_t *slot = filled(out, 1.5f);
    tenure_frame_t *frame = NULL;
    tenure_frame_meta_t meta;
    tenure_receipt_t receipt;
    tenure_frame_info_t info;
    tenure_subscriber_figures_t figures;
    tenure_tensor_t *tensor = NULL;
    tenure_map_t *map = NULL;
    struct pollfd ready;
    const void *blob = NULL;
    size_t bytes = 77, consumers = 77;

    OK(tenure_subscriber_fd(in, &ready.fd));
    ready.events = POLLIN;
    CHECK(poll(&ready, 1, 0) == 0);
    frame = (tenure_frame_t *)&ready;
    OK(tenure_subscriber_next(in, 0, &frame));
    CHECK(frame == NULL);

    memset(&meta, 0, sizeof meta);
    meta.timestamp = 1234567;
    meta.blob = "exposure 12 ms";
    meta.blob_bytes = 14;
    OK(tenure_slot_publish(slot, &meta, &receipt));
    CHECK(receipt.sequence == 0 && receipt.consumers == 1 && receipt.dropped == 0);
    tenure_slot_free(slot);
    OK(tenure_publisher_consumers(out, &consumers));
    CHECK(consumers == 1);

    CHECK(poll(&ready, 1, 10000) == 1 && (ready.revents & POLLIN));
    OK(tenure_subscriber_next(in, 10 * SECOND, &frame));
    CHECK(frame != NULL && value(frame) == 1.5f);
    OK(tenure_frame_info(frame, &info));
    CHECK(info.sequence == 0 && info.timestamp == 1234567 && info.published > 0);
    CHECK(info.dropped == 0 && info.dropped_in_all == 0);
    CHECK(info.guarded == TENURE_GUARDED_SEALED && info.incarnation != 0);
    OK(tenure_frame_blob(frame, &blob, &bytes));
    CHECK(bytes == 14 && memcmp(blob, "exposure 12 ms", 14) == 0);
    OK(tenure_subscriber_figures(in, &figures));
    CHECK(figures.credits == 3 && figures.incarnation == info.incarnation && figures.dropped == 0);

    /* Nobody writes to it, and its tensor outlives the frame and the subscriber. */
    OK(tenure_frame_tensor(frame, &tensor));
    FAILS(TENURE_STATUS_READ_ONLY, "read-only", tenure_map(tensor, &map));
    tenure_frame_release(frame);
    tenure_subscriber_free(in);
    tenure_publisher_free(out);
    CHECK(first(tensor) == 1.5f);
    tenure_tensor_free(tensor);
}

/* What is written where nobody should: into a slot that is published, and into a frame. */
static void written(const char *directory) {
    tenure_publisher_t *out = publisher(directory, "written", 1);
    tenure_subscriber_t *in = subscriber(directory, "written", 2);
    for (int round = 0; round < 8; round++) {
        tenure_slot_t *slot = filled(out, (float)round);
        tenure_tensor_t *kept = NULL, *tensor = NULL;
        tenure_frame_t *frame = NULL;
        tenure_map_t *map = NULL;
        tenure_read_t *read = NULL, *again = NULL;
        const void *shown = NULL;
        void *data = NULL;

        OK(tenure_slot_tensor(slot, &kept));
        OK(tenure_map(kept, &map));
        OK(tenure_map_data(map, &data, NULL));
        tenure_status_t published = tenure_slot_publish(slot, NULL, NULL);
        if (published == TENURE_STATUS_BUSY) {
            /* Pages cannot be moved away under a map before Linux 5.13, nor under valgrind. */
            tenure_map_release(map);
            tenure_tensor_free(kept);
            tenure_slot_free(slot);
            break;
        }
        OK(published);
        FAILS(TENURE_STATUS_INVALID, "given up", tenure_slot_publish(slot, NULL, NULL));
        tenure_slot_free(slot);
        memset(data, 1, 16);
        OK(tenure_subscriber_next(in, 10 * SECOND, &frame));
        CHECK(value(frame) == (float)round);

        OK(tenure_frame_tensor(frame, &tensor));
        OK(tenure_map_read(tensor, &read));
        OK(tenure_read_data(read, &shown, NULL));
        CHECK(*(const float *)shown == (float)round);
        memset((void *)shown, 2, 16);
        CHECK(*(const unsigned char *)shown == 2 && *(const unsigned char *)data == 1);
        OK(tenure_map_read(tensor, &again));
        tenure_read_release(read);
        tenure_read_release(again);
        CHECK(value(frame) == (float)round);
        tenure_map_release(map);
        tenure_tensor_free(kept);
        tenure_tensor_free(tensor);
        tenure_frame_release(frame);
    }
    tenure_subscriber_free(in);
    tenure_publisher_free(out);
}

/* Frames look as declared, and whoever holds all that it may does not wait for ever. */
static void declared_and_full(const char *directory) {
    tenure_publisher_t *out = publisher(directory, "declared", 1);
    tenure_subscriber_t *in = subscriber(directory, "declared", 2);
    const size_t shape[] = {5};
    tenure_tensor_t *other = counting(shape, 1);
    tenure_spec_t *spec = NULL;
    tenure_slot_t *slot = NULL;
    tenure_frame_t *frames[2] = {NULL, NULL}, *frame = NULL;
    tenure_subscriber_figures_t figures;
    tenure_publisher_options_t *free_options = NULL;
    tenure_subscriber_options_t *options = NULL;
    size_t held = 77;

    OK(tenure_spec_like(other, &spec));
    FAILS(TENURE_STATUS_INVALID, "declared as f32 [4]", tenure_publisher_claim(out, spec, &slot));
    FAILS(TENURE_STATUS_INVALID, "f32 [5]", tenure_publisher_publish_copy(out, other, NULL, NULL));

    for (int count = 0; count < 2; count++) {
        slot = filled(out, 1.0f);
        OK(tenure_slot_publish(slot, NULL, NULL));
        tenure_slot_free(slot);
        OK(tenure_subscriber_next(in, -1, &frames[count]));
    }
    OK(tenure_subscriber_held(in, &held));
    CHECK(held == 2);
    FAILS(TENURE_STATUS_BUSY, "all 2 frames", tenure_subscriber_next(in, -1, &frame));
    FAILS(TENURE_STATUS_BUSY, "all 2 frames", tenure_subscriber_next(in, 60 * SECOND, &frame));
    FAILS(TENURE_STATUS_BUSY, "all 2 frames", tenure_subscriber_latest(in, &frame));
    OK(tenure_subscriber_next(in, 0, &frame));
    CHECK(frame == NULL);
    /* What is lost is known while nothing comes. */
    for (int count = 1; count < 4; count++) {
        slot = filled(out, 1.0f);
        OK(tenure_slot_publish(slot, NULL, NULL));
        tenure_slot_free(slot);
        OK(tenure_subscriber_figures(in, &figures));
        CHECK(figures.dropped == (uint64_t)count);
    }
    tenure_frame_release(frames[0]);
    tenure_frame_release(frames[1]);
    OK(tenure_subscriber_held(in, &held));
    CHECK(held == 0);
    tenure_subscriber_free(in);
    tenure_publisher_free(out);

    OK(tenure_publisher_options_new("declared", &free_options));
    OK(tenure_publisher_options_set_directory(free_options, directory));
    OK(tenure_publisher_options_set_initial_spec(free_options, spec));
    OK(tenure_publisher_open(free_options, &out));
    tenure_publisher_options_free(free_options);
    OK(tenure_subscriber_options_new("declared", &options));
    OK(tenure_subscriber_options_set_directory(options, directory));
    OK(tenure_subscriber_options_set_wait_when_full(options, true));
    OK(tenure_subscriber_options_set_producer_uid(options, 12345));
    OK(tenure_subscriber_options_set_limits(options, 1, 0));
    OK(tenure_subscriber_open(options, &in));
    tenure_subscriber_options_free(options);
    OK(tenure_publisher_publish_copy(out, other, NULL, NULL));
    FAILS(TENURE_STATUS_OUT_OF_MEMORY, "tenure_subscriber_options_set_limits()",
          tenure_subscriber_next(in, SECOND, &frame));
    FAILS(TENURE_STATUS_NULL, "subscriber", tenure_subscriber_held(NULL, &held));
    FAILS(TENURE_STATUS_NULL, "held", tenure_subscriber_held(in, NULL));
    FAILS(TENURE_STATUS_NULL, "options", tenure_subscriber_options_set_limits(NULL, 1, 1));
    FAILS(TENURE_STATUS_NULL, "options", tenure_publisher_options_set_initial_spec(NULL, spec));
    tenure_subscriber_free(in);
    tenure_publisher_free(out);
    tenure_spec_free(spec);
    tenure_tensor_free(other);
}

/* The same with tensors that exist already, and frames of other kinds. */
static void tensors(const char *directory) {
    tenure_publisher_t *out = publisher(directory, "whole/tensors", 0);
    tenure_subscriber_t *in = subscriber(directory, "whole/tensors", 4);
    const size_t shape[] = {6};
    tenure_tensor_t *heap = counting(shape, 1), *shared = NULL, *image = NULL;
    tenure_spec_t *spec = NULL, *like = NULL;
    tenure_slot_t *slot = NULL;
    tenure_frame_t *frame = NULL;
    tenure_frame_info_t info;
    tenure_format_t format = TENURE_FORMAT_NONE;
    tenure_matrix_t matrix = TENURE_MATRIX_NONE;
    tenure_range_t range = TENURE_RANGE_FULL;
    size_t width = 0, height = 0, stride = 0;

    FAILS(TENURE_STATUS_INVALID, "tenure_publisher_claim()", tenure_publisher_claim(out, NULL, &slot));
    FAILS(TENURE_STATUS_UNSUPPORTED, "descriptor", tenure_publisher_publish(out, heap, NULL, NULL));
    OK(tenure_publisher_publish_copy(out, heap, NULL, NULL));
    OK(tenure_tensor_to(heap, TENURE_MEMORY_SHM, &shared));
    OK(tenure_publisher_publish(out, shared, NULL, NULL));
    for (uint64_t sequence = 0; sequence < 2; sequence++) {
        OK(tenure_subscriber_next(in, 10 * SECOND, &frame));
        OK(tenure_frame_info(frame, &info));
        CHECK(info.sequence == sequence && value(frame) == 0.0f && info.timestamp == 0);
        tenure_frame_release(frame);
    }

    OK(tenure_spec_image(64, 32, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, 0, &spec));
    OK(tenure_spec_set_colour(spec, TENURE_MATRIX_BT709, TENURE_RANGE_LIMITED));
    OK(tenure_publisher_claim(out, spec, &slot));
    OK(tenure_slot_tensor(slot, &image));
    OK(tenure_spec_like(image, &like));
    tenure_tensor_free(image);
    OK(tenure_slot_publish(slot, NULL, NULL));
    tenure_slot_free(slot);
    OK(tenure_publisher_claim(out, like, &slot));
    OK(tenure_slot_publish(slot, NULL, NULL));
    tenure_slot_free(slot);
    for (int count = 0; count < 2; count++) {
        OK(tenure_subscriber_next(in, 10 * SECOND, &frame));
        OK(tenure_frame_tensor(frame, &image));
        OK(tenure_tensor_format(image, &format));
        OK(tenure_image_size(image, &width, &height, &stride));
        OK(tenure_tensor_colour(image, &matrix, &range));
        CHECK(format == TENURE_FORMAT_NV12 && width == 64 && height == 32);
        CHECK(matrix == TENURE_MATRIX_BT709 && range == TENURE_RANGE_LIMITED);
        tenure_tensor_free(image);
        tenure_frame_release(frame);
    }
    tenure_spec_free(spec);
    tenure_spec_free(like);
    tenure_tensor_free(heap);
    tenure_tensor_free(shared);
    tenure_subscriber_free(in);
    tenure_publisher_free(out);
}

/* Slots that are used in the wrong order, and consumers that are too slow. */
static void wrong_order(const char *directory) {
    static char blob[1 << 15];
    tenure_publisher_t *out = publisher(directory, "order", 1), *second = NULL;
    tenure_publisher_options_t *options = NULL;
    tenure_subscriber_t *in = subscriber(directory, "order", 2);
    tenure_slot_t *slot = filled(out, 1.0f), *other = filled(out, 2.0f), *third = NULL;
    tenure_tensor_t *tensor = NULL;
    tenure_frame_t *frame = NULL, *held = NULL;
    tenure_frame_info_t info;
    tenure_frame_meta_t meta;
    tenure_receipt_t receipt;
    tenure_subscriber_figures_t figures;
    bool evicted = false;

    FAILS(TENURE_STATUS_BUSY, "are claimed", tenure_publisher_claim(out, NULL, &third));
    OK(tenure_slot_publish(slot, NULL, NULL));
    FAILS(TENURE_STATUS_INVALID, "published", tenure_slot_publish(slot, NULL, NULL));
    FAILS(TENURE_STATUS_INVALID, "published", tenure_slot_tensor(slot, &tensor));
    tenure_slot_free(slot);
    tenure_slot_free(other);

    memset(&meta, 0, sizeof meta);
    meta.blob_bytes = 3;
    slot = filled(out, 4.0f);
    FAILS(TENURE_STATUS_NULL, "blob", tenure_slot_publish(slot, &meta, NULL));
    meta.blob = blob;
    meta.blob_bytes = sizeof blob;
    FAILS(TENURE_STATUS_INVALID, "32768 bytes", tenure_slot_publish(slot, &meta, NULL));
    tenure_slot_free(slot);

    /* Two credits: the third frame does not come. */
    OK(tenure_subscriber_next(in, 10 * SECOND, &held));
    CHECK(value(held) == 1.0f);
    for (int i = 0; i < 2; i++) {
        slot = filled(out, 10.0f + (float)i);
        OK(tenure_slot_publish(slot, NULL, &receipt));
        CHECK(receipt.consumers == (i == 0 ? 1u : 0u) && receipt.dropped == (i == 0 ? 0u : 1u));
        tenure_slot_free(slot);
    }
    tenure_frame_release(held);
    OK(tenure_subscriber_latest(in, &frame));
    CHECK(frame != NULL && value(frame) == 10.0f);
    tenure_frame_release(frame);
    OK(tenure_subscriber_latest(in, &frame));
    CHECK(frame == NULL);
    for (int i = 0; i < 2; i++) {
        slot = filled(out, 20.0f + (float)i);
        OK(tenure_slot_publish(slot, NULL, &receipt));
        CHECK(receipt.consumers == 1);
        tenure_slot_free(slot);
    }
    OK(tenure_subscriber_latest(in, &frame));
    OK(tenure_frame_info(frame, &info));
    CHECK(value(frame) == 21.0f && info.dropped == 0 && info.dropped_in_all == 1);
    OK(tenure_subscriber_figures(in, &figures));
    CHECK(figures.dropped == 1 && figures.skipped == 1);
    tenure_frame_release(frame);

    /* One producer for a name; a consumer can be put out. */
    OK(tenure_publisher_options_new("order", &options));
    OK(tenure_publisher_options_set_directory(options, directory));
    FAILS(TENURE_STATUS_EXISTS, "has a producer already", tenure_publisher_open(options, &second));
    OK(tenure_publisher_evict(out, figures.id + 1000, &evicted));
    CHECK(!evicted);
    OK(tenure_publisher_evict(out, figures.id, &evicted));
    CHECK(evicted);
    FAILS(TENURE_STATUS_EVICTED, "put this consumer out",
          tenure_subscriber_next(in, 10 * SECOND, &frame));
    OK(tenure_subscriber_reopen(in, SECOND));
    tenure_publisher_free(out);
    FAILS(TENURE_STATUS_CLOSED, "closed it", tenure_subscriber_next(in, -1, &frame));
    FAILS(TENURE_STATUS_NOT_FOUND, "nobody publishes", tenure_subscriber_reopen(in, 0));
    tenure_subscriber_free(in);
    tenure_publisher_options_free(options);
}

/* A frame that a device still writes, and one that a device still reads. */
static void fences(const char *directory) {
    tenure_publisher_t *out = publisher(directory, "fences", 1);
    tenure_subscriber_t *in = subscriber(directory, "fences", 2), *early = NULL;
    tenure_subscriber_options_t *options = NULL;
    tenure_slot_t *slot = filled(out, 5.0f);
    tenure_fence_t *fence = NULL, *same = NULL;
    tenure_frame_meta_t meta;
    tenure_frame_t *frame = NULL, *got = NULL;
    bool done = true;
    int ends[2];
    OK(tenure_subscriber_options_new("fences", &options));
    OK(tenure_subscriber_options_set_directory(options, directory));
    OK(tenure_subscriber_options_set_explicit_fences(options, true));
    OK(tenure_subscriber_open(options, &early));
    CHECK(pipe(ends) == 0);
    OK(tenure_fence_from_fd(ends[0], &fence));
    memset(&meta, 0, sizeof meta);
    meta.fence = fence;
    OK(tenure_slot_publish(slot, &meta, NULL));
    tenure_slot_free(slot);
    OK(tenure_subscriber_next(in, SECOND / 100, &frame));
    CHECK(frame == NULL);
    OK(tenure_subscriber_next(early, 10 * SECOND, &got));
    OK(tenure_frame_fence(got, &same));
    OK(tenure_fence_wait(same, 0, &done));
    CHECK(!done);
    tenure_fence_free(same);
    CHECK(write(ends[1], "", 1) == 1);
    OK(tenure_subscriber_next(in, 10 * SECOND, &frame));
    CHECK(frame != NULL && value(frame) == 5.0f);
    OK(tenure_frame_fence(frame, &same));
    CHECK(same == NULL);
    FAILS(TENURE_STATUS_NULL, "fence", tenure_frame_release_after(got, NULL));
    OK(tenure_frame_release_after(got, fence));
    tenure_frame_release(frame);
    tenure_fence_free(fence);
    close(ends[0]);
    close(ends[1]);
    tenure_subscriber_free(in);
    tenure_subscriber_free(early);
    tenure_subscriber_options_free(options);
    tenure_publisher_free(out);
}

static void reports(const char *directory) {
    tenure_publisher_t *out = publisher(directory, "cam0/frame", 1);
    tenure_subscriber_t *in = subscriber(directory, "cam0/frame", 3);
    tenure_slot_t *slot = filled(out, 1.0f);
    tenure_stream_report_t *here = NULL, *there = NULL;
    tenure_stream_figures_t figures;
    tenure_streams_t *streams = NULL;
    const char *json = NULL, *name = NULL, *path = NULL;
    size_t count = 0;
    bool alive = false;
    OK(tenure_slot_publish(slot, NULL, NULL));
    tenure_slot_free(slot);
    OK(tenure_publisher_report(out, &here));
    OK(tenure_stream_report_figures(here, &figures));
    CHECK(figures.published == 1 && figures.dropped == 0 && figures.consumers == 1);
    CHECK(figures.slots > 0 && figures.bytes >= 16);
    OK(tenure_stream_report_json(here, &json));
    CHECK(strstr(json, "\"name\":\"cam0/frame\"") != NULL && strstr(json, "\"consumers\":[{"));
    OK(tenure_stream_stat(directory, "cam0/frame", &there));
    OK(tenure_stream_report_json(there, &json));
    CHECK(strstr(json, "\"published\":1") != NULL);
    FAILS(TENURE_STATUS_NOT_FOUND, "nobody publishes",
          tenure_stream_stat(directory, "cam1/frame", &there));

    OK(tenure_streams_list(directory, &streams));
    OK(tenure_streams_count(streams, &count));
    for (size_t i = 0; i < count; i++) {
        OK(tenure_streams_entry(streams, i, &name, &path, &alive));
        if (strcmp(name, "cam0/frame") == 0) break;
        name = NULL;
    }
    CHECK(name != NULL && alive && strstr(path, directory) == path);
    FAILS(TENURE_STATUS_NOT_FOUND, "counted from 0",
          tenure_streams_entry(streams, count, &name, NULL, NULL));
    tenure_streams_free(streams);
    tenure_stream_report_free(here);
    tenure_stream_report_free(there);
    tenure_subscriber_free(in);
    tenure_publisher_free(out);
}

static void refused(const char *directory) {
    const size_t shape[] = {4};
    tenure_publisher_options_t *options = NULL;
    tenure_subscriber_options_t *wishes = NULL;
    tenure_publisher_t *publisher = NULL;
    tenure_subscriber_t *subscriber = NULL;
    tenure_spec_t *spec = NULL;
    tenure_slot_t *slot = NULL;
    tenure_frame_t *frame = NULL;
    tenure_streams_t *streams = NULL;
    tenure_stream_report_t *report = NULL;
    size_t count = 0;
    int fd = -1;
    FAILS(TENURE_STATUS_NULL, "name", tenure_publisher_options_new(NULL, &options));
    FAILS(TENURE_STATUS_NULL, "options", tenure_publisher_options_new("x", NULL));
    FAILS(TENURE_STATUS_NULL, "options", tenure_publisher_open(NULL, &publisher));
    OK(tenure_publisher_options_new("../x", &options));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_open(options, NULL));
    FAILS(TENURE_STATUS_NULL, "directory", tenure_publisher_options_set_directory(options, NULL));
    FAILS(TENURE_STATUS_NULL, "spec", tenure_publisher_options_set_spec(options, NULL));
    FAILS(TENURE_STATUS_INVALID, "1 dma", tenure_publisher_options_set_memory(options, 99));
    FAILS(TENURE_STATUS_INVALID, "at least 1", tenure_publisher_options_set_claims(options, 0));
    FAILS(TENURE_STATUS_INVALID, "each", tenure_publisher_options_set_credits(options, 1, 0));
    OK(tenure_publisher_options_set_evict_after(options, 1));
    OK(tenure_publisher_options_set_directory(options, directory));
    FAILS(TENURE_STATUS_INVALID, "no name for a stream", tenure_publisher_open(options, &publisher));
    tenure_publisher_options_free(options);
    OK(tenure_publisher_options_new("heap", &options));
    OK(tenure_publisher_options_set_directory(options, directory));
    OK(tenure_publisher_options_set_memory(options, TENURE_MEMORY_MEM));
    FAILS(TENURE_STATUS_UNSUPPORTED, "descriptor", tenure_publisher_open(options, &publisher));
    tenure_publisher_options_free(options);

    FAILS(TENURE_STATUS_NULL, "shape", tenure_spec_tensor(NULL, 1, TENURE_DTYPE_U8, &spec));
    FAILS(TENURE_STATUS_INVALID, "10 f32", tenure_spec_tensor(shape, 1, 99, &spec));
    FAILS(TENURE_STATUS_INVALID, "",
          tenure_spec_image(0, 4, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, 0, &spec));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_spec_like(NULL, &spec));
    FAILS(TENURE_STATUS_NULL, "spec", tenure_spec_set_colour(NULL, 0, 0));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_claim(NULL, NULL, &slot));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_publish(NULL, NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_publish_copy(NULL, NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_consumers(NULL, &count));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_report(NULL, &report));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_evict(NULL, 0, NULL));
    FAILS(TENURE_STATUS_NULL, "slot", tenure_slot_tensor(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "slot", tenure_slot_publish(NULL, NULL, NULL));

    FAILS(TENURE_STATUS_NULL, "name", tenure_subscriber_options_new(NULL, &wishes));
    FAILS(TENURE_STATUS_NULL, "options", tenure_subscriber_open(NULL, &subscriber));
    OK(tenure_subscriber_options_new("nobody", &wishes));
    OK(tenure_subscriber_options_set_directory(wishes, directory));
    FAILS(TENURE_STATUS_INVALID, "at least 1", tenure_subscriber_options_set_credits(wishes, 0));
    FAILS(TENURE_STATUS_NULL, "options", tenure_subscriber_options_set_follow(NULL, true));
    OK(tenure_subscriber_options_set_wait(wishes, SECOND / 100));
    FAILS(TENURE_STATUS_NOT_FOUND, "start its producer first",
          tenure_subscriber_open(wishes, &subscriber));
    tenure_subscriber_options_free(wishes);
    FAILS(TENURE_STATUS_NULL, "subscriber", tenure_subscriber_next(NULL, 0, &frame));
    FAILS(TENURE_STATUS_NULL, "subscriber", tenure_subscriber_latest(NULL, &frame));
    FAILS(TENURE_STATUS_NULL, "subscriber", tenure_subscriber_fd(NULL, &fd));
    FAILS(TENURE_STATUS_NULL, "subscriber", tenure_subscriber_figures(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "subscriber", tenure_subscriber_reopen(NULL, 0));
    FAILS(TENURE_STATUS_NULL, "frame", tenure_frame_tensor(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "frame", tenure_frame_info(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "frame", tenure_frame_blob(NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "frame", tenure_frame_fence(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "fence", tenure_frame_release_after(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "streams", tenure_streams_list(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "streams", tenure_streams_count(NULL, &count));
    FAILS(TENURE_STATUS_NULL, "streams", tenure_streams_entry(NULL, 0, NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "name", tenure_stream_stat(directory, NULL, &report));
    FAILS(TENURE_STATUS_NULL, "report", tenure_stream_report_figures(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "report", tenure_stream_report_json(NULL, NULL));
    CHECK(!publisher && !subscriber && !spec && !slot && !frame && !streams && !report);
    tenure_publisher_options_free(NULL);
    tenure_subscriber_options_free(NULL);
    tenure_publisher_free(NULL);
    tenure_subscriber_free(NULL);
    tenure_spec_free(NULL);
    tenure_slot_free(NULL);
    tenure_frame_release(NULL);
    tenure_streams_free(NULL);
    tenure_stream_report_free(NULL);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    round_trip(arguments[1]);
    written(arguments[1]);
    declared_and_full(arguments[1]);
    tensors(arguments[1]);
    wrong_order(arguments[1]);
    fences(arguments[1]);
    reports(arguments[1]);
    refused(arguments[1]);
    return 0;
}
