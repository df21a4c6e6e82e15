/* Memory of devices: of the one that TENURE_TEST_DEVICE names, or of the first that is found. */
#include "check.h"

#include <dlfcn.h>

/* What drivers leave behind is theirs. It has a name only while they are loaded, so they stay. */
#ifdef __cplusplus
extern "C"
#endif
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libvulkan\nleak:libcuda\nleak:libamdhip64\nleak:libOpenCL\n";
}

static void keep_drivers(void) {
    const char *names[] = {"libvulkan.so.1", "libvulkan_lvp.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)dlopen(names[i], RTLD_LAZY | RTLD_NODELETE);
    }
}

enum { LARGE = 32 << 20 };

/* The word of a device that can be used, or null. */
static const char *usable(const tenure_devices_t *devices) {
    const char *word = NULL, *unusable = NULL;
    size_t found = 0;
    OK(tenure_devices_count(devices, &found, NULL));
    for (size_t i = 0; i < found; i++) {
        OK(tenure_devices_entry(devices, i, &word, NULL, NULL, NULL, &unusable));
        if (unusable == NULL) return word;
    }
    return NULL;
}

/* Every backend has devices, or a reason. */
static void list(const tenure_devices_t *devices) {
    const char *word, *name, *driver, *backend, *reason;
    tenure_device_kind_t kind;
    size_t found = 99, missing = 99;
    uint64_t bytes = 0;
    bool local, mappable;
    OK(tenure_devices_count(devices, &found, &missing));
    CHECK(found + missing >= 4 && missing <= 4);
    for (size_t i = 0; i < found; i++) {
        OK(tenure_devices_entry(devices, i, &word, &name, &driver, &kind, NULL));
        CHECK(strchr(word, ':') != NULL && *name != 0 && *driver != 0);
        CHECK(kind >= TENURE_DEVICE_OTHER && kind <= TENURE_DEVICE_SOFTWARE);
        OK(tenure_devices_heap(devices, i, 0, &bytes, &local, &mappable));
        CHECK(bytes > 0);
        FAILS(TENURE_STATUS_NOT_FOUND, "there is no heap 99",
              tenure_devices_heap(devices, i, 99, &bytes, NULL, NULL));
    }
    for (size_t i = 0; i < missing; i++) {
        OK(tenure_devices_missing(devices, i, &backend, &reason));
        CHECK(*backend != 0 && strstr(reason, ": ") != NULL);
    }
    FAILS(TENURE_STATUS_NOT_FOUND, "counted from 0",
          tenure_devices_entry(devices, found, &word, NULL, NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NOT_FOUND, "counted from 0",
          tenure_devices_missing(devices, missing, &backend, &reason));
}

static void wrong(void) {
    const size_t shape[] = {2, 3};
    tenure_device_t *device = NULL;
    tenure_tensor_t *tensor = NULL, *copy = NULL;
    tenure_fence_t *fence = NULL;
    tenure_pool_t *pool = NULL;
    tenure_space_t space;
    uint32_t number;
    size_t count;
    const char *text;
    const char *words[] = {"", "vulkan:x", "opengl:0", "vulkan:0:0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        FAILS(TENURE_STATUS_UNAVAILABLE, "such as vulkan:0", tenure_device_open(words[i], &device));
    }
    FAILS(TENURE_STATUS_NULL, "word", tenure_device_open(NULL, &device));
    FAILS(TENURE_STATUS_NULL, "device", tenure_device_open("vulkan:0", NULL));
    FAILS(TENURE_STATUS_NULL, "devices", tenure_devices_list(NULL));
    FAILS(TENURE_STATUS_NULL, "devices", tenure_devices_count(NULL, &count, &count));
    FAILS(TENURE_STATUS_NULL, "device", tenure_device_name(NULL, &text));
    FAILS(TENURE_STATUS_NULL, "device", tenure_device_queues(NULL, &count));
    FAILS(TENURE_STATUS_NULL, "device", tenure_device_on_queue(NULL, 0, &device));
    FAILS(TENURE_STATUS_NULL, "device",
          tenure_device_space(NULL, TENURE_MEMORY_DEVICE, &space, &number));
    FAILS(TENURE_STATUS_NULL, "device",
          tenure_device_tensor(NULL, shape, 2, TENURE_DTYPE_F32, TENURE_MEMORY_AUTO, NULL,
                               &tensor));
    FAILS(TENURE_STATUS_NULL, "device",
          tenure_device_image(NULL, 8, 8, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, TENURE_MEMORY_AUTO,
                              NULL, &tensor));
    FAILS(TENURE_STATUS_NULL, "device", tenure_device_pool(NULL, TENURE_MEMORY_AUTO, 0, 0, &pool));
    FAILS(TENURE_STATUS_NULL, "device", tenure_device_to(NULL, NULL, TENURE_MEMORY_AUTO, &copy));
    FAILS(TENURE_STATUS_NULL, "device",
          tenure_device_to_later(NULL, NULL, TENURE_MEMORY_AUTO, &copy, &fence));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_tensor_copy_from_later(NULL, NULL, &fence));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_tensor_to_space(NULL, 0, 0, &copy));
    tenure_devices_free(NULL);
    tenure_device_free(NULL);

    /* No device is open: the text says how to open one. */
    FAILS(TENURE_STATUS_UNAVAILABLE, "tenure_device_open()",
          tenure_tensor_new(shape, 2, TENURE_DTYPE_F32, TENURE_MEMORY_PINNED, NULL, &tensor));
    tensor = counting(shape, 2);
    FAILS(TENURE_STATUS_UNAVAILABLE, "tenure_device_open()",
          tenure_tensor_to(tensor, TENURE_MEMORY_DEVICE, &copy));
    FAILS(TENURE_STATUS_UNAVAILABLE, "open one that has",
          tenure_tensor_to_space(tensor, TENURE_SPACE_GPU, 7, &copy));
    FAILS(TENURE_STATUS_INVALID, "9 is no space", tenure_tensor_to_space(tensor, 9, 0, &copy));
    OK(tenure_tensor_to_space(tensor, TENURE_SPACE_MAIN, 7, &copy));
    CHECK(device == NULL && fence == NULL && pool == NULL);
    tenure_tensor_free(copy);
    tenure_tensor_free(tensor);
}

static tenure_space_t space_of(const tenure_tensor_t *tensor) {
    tenure_space_t space = -1;
    uint32_t device = 99;
    OK(tenure_tensor_space(tensor, &space, &device));
    return space;
}

static void copies(tenure_device_t *device) {
    const size_t shape[] = {4, 5};
    tenure_tensor_t *here = counting(shape, 2), *there = NULL, *part = NULL, *back = NULL;
    tenure_tensor_t *pinned = NULL, *picture = NULL;
    tenure_map_t *map = NULL;
    tenure_read_t *read = NULL;
    const void *data = NULL;
    const char *name = NULL;
    OK(tenure_device_tensor(device, shape, 2, TENURE_DTYPE_F32, TENURE_MEMORY_AUTO, "there",
                            &there));
    OK(tenure_tensor_name(there, &name));
    CHECK(strcmp(name, "there") == 0 && space_of(there) == TENURE_SPACE_GPU);
    OK(tenure_tensor_to(there, TENURE_MEMORY_MEM, &back));
    CHECK(first(back) == 0.0f && space_of(back) == TENURE_SPACE_MAIN);
    tenure_tensor_free(back);

    /* The CPU does not reach it, and is told what does. */
    FAILS(TENURE_STATUS_UNSUPPORTED, "tenure_tensor_to() and TENURE_MEMORY_MEM",
          tenure_map(there, &map));
    FAILS(TENURE_STATUS_UNSUPPORTED, "tenure_tensor_copy_from()", tenure_map_read(there, &read));

    OK(tenure_tensor_copy_from(there, here));
    OK(tenure_tensor_slice(there, 0, 1, 4, 2, &part));
    OK(tenure_tensor_to(part, TENURE_MEMORY_MEM, &back));
    OK(tenure_map_read(back, &read));
    OK(tenure_read_data(read, &data, NULL));
    CHECK(((const float *)data)[0] == 5.0f && ((const float *)data)[9] == 19.0f);
    tenure_read_release(read);
    tenure_tensor_free(back);
    tenure_tensor_free(part);

    OK(tenure_device_to(device, here, TENURE_MEMORY_PINNED, &pinned));
    CHECK(space_of(pinned) == TENURE_SPACE_PINNED && first(pinned) == 0.0f);
    OK(tenure_tensor_to_space(pinned, TENURE_SPACE_GPU, 0, &back));
    CHECK(space_of(back) == TENURE_SPACE_GPU);
    tenure_tensor_free(back);
    OK(tenure_device_image(device, 64, 48, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, TENURE_MEMORY_AUTO,
                           NULL, &picture));
    OK(tenure_tensor_to(picture, TENURE_MEMORY_MEM, &back));
    FAILS(TENURE_STATUS_UNAVAILABLE, "device, pinned and managed",
          tenure_device_to(device, here, TENURE_MEMORY_SHM, &part));
    tenure_tensor_free(back);
    tenure_tensor_free(picture);
    tenure_tensor_free(pinned);
    tenure_tensor_free(there);
    tenure_tensor_free(here);
}

/* What is copied later is held until then. */
static void later(tenure_device_t *device) {
    const size_t shape[] = {LARGE};
    tenure_tensor_t *here = NULL, *there = NULL, *back = NULL;
    tenure_fence_t *fence = NULL;
    tenure_map_t *map = NULL;
    tenure_read_t *read = NULL;
    void *data = NULL;
    const void *bytes = NULL;
    bool done = false;
    OK(tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &here));
    OK(tenure_map(here, &map));
    OK(tenure_map_data(map, &data, NULL));
    memset(data, 7, LARGE);
    tenure_map_release(map);

    OK(tenure_device_to_later(device, here, TENURE_MEMORY_AUTO, &there, &fence));
    OK(tenure_fence_wait(fence, -1, &done));
    CHECK(done);
    tenure_fence_free(fence);

    OK(tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &back));
    OK(tenure_tensor_copy_from_later(back, there, &fence));
    /* Done by now, or refused. */
    if (tenure_map_read(back, &read) == TENURE_STATUS_OK) {
        OK(tenure_fence_wait(fence, -1, &done));
    } else {
        CHECK(strstr(tenure_last_error(), "that has to end first") != NULL);
        /* Handles may go: the copy keeps what it needs. */
        tenure_tensor_free(there);
        there = NULL;
        OK(tenure_fence_wait(fence, -1, &done));
        OK(tenure_map_read(back, &read));
    }
    OK(tenure_read_data(read, &bytes, NULL));
    CHECK(done && ((const uint8_t *)bytes)[0] == 7 && ((const uint8_t *)bytes)[LARGE - 1] == 7);
    tenure_read_release(read);
    tenure_fence_free(fence);
    tenure_tensor_free(back);
    tenure_tensor_free(there);
    tenure_tensor_free(here);
}

static void pools(tenure_device_t *device) {
    const size_t shape[] = {256, 256};
    tenure_pool_t *pool = NULL;
    tenure_tensor_t *tensor = NULL;
    tenure_pool_report_t report;
    OK(tenure_device_pool(device, TENURE_MEMORY_DEVICE, SIZE_MAX, 4, &pool));
    for (int round = 0; round < 3; round++) {
        OK(tenure_pool_tensor(pool, shape, 2, TENURE_DTYPE_F32, "frame", &tensor));
        CHECK(space_of(tensor) == TENURE_SPACE_GPU);
        tenure_tensor_free(tensor);
    }
    OK(tenure_pool_report(pool, &report));
    CHECK(report.misses == 1 && report.hits == 2);
    tenure_pool_free(pool);
}

int main(void) {
    const size_t shape[] = {4};
    tenure_devices_t *devices = NULL;
    tenure_device_t *device = NULL, *other = NULL;
    tenure_tensor_t *kept = NULL, *back = NULL;
    const char *word = getenv("TENURE_TEST_DEVICE"), *name = NULL;
    size_t queues = 0;
    tenure_space_t space = -1;
    uint32_t number = 99;
    keep_drivers();
    OK(tenure_devices_list(&devices));
    list(devices);
    wrong();
    if (word == NULL) word = usable(devices);
    if (word == NULL) {
        puts("skipped: there is no device on this machine");
        tenure_devices_free(devices);
        return 0;
    }
    OK(tenure_device_open(word, &device));
    OK(tenure_device_name(device, &name));
    OK(tenure_device_queues(device, &queues));
    CHECK(*name != 0 && queues >= 1);
    OK(tenure_device_on_queue(device, queues - 1, &other));
    tenure_device_free(other);
    FAILS(TENURE_STATUS_NOT_FOUND, "counted from 0",
          tenure_device_on_queue(device, queues, &other));
    OK(tenure_device_space(device, TENURE_MEMORY_AUTO, &space, &number));
    CHECK(space == TENURE_SPACE_GPU && number == (uint32_t)atoi(strchr(word, ':') + 1));
    tenure_devices_free(devices);
    copies(device);
    later(device);
    pools(device);
    /* The device may go first. */
    OK(tenure_device_tensor(device, shape, 1, TENURE_DTYPE_F32, TENURE_MEMORY_AUTO, NULL, &kept));
    tenure_device_free(device);
    OK(tenure_tensor_to(kept, TENURE_MEMORY_MEM, &back));
    CHECK(first(back) == 0.0f);
    tenure_tensor_free(back);
    tenure_tensor_free(kept);
    return 0;
}
