/* Picture files, and conversions that are waited for; the folder to write into is the first
 * argument. */
#include "check.h"
#include <poll.h>
#include <unistd.h>

/* The bytes of an encoded picture. */
struct file {
    uint8_t bytes[1 << 16];
    size_t count;
};

static bool take(void *context, const uint8_t *bytes, size_t count) {
    struct file *file = (struct file *)context;
    if (count > sizeof file->bytes - file->count) return false;
    memcpy(file->bytes + file->count, bytes, count);
    file->count += count;
    return true;
}

static bool take_nothing(void *context, const uint8_t *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return false;
}

/* A picture whose pixels differ. */
static tenure_tensor_t *picture(size_t width, size_t height) {
    tenure_tensor_t *image = NULL;
    tenure_map_t *map = NULL;
    void *data = NULL;
    size_t bytes = 0;
    OK(tenure_image_new(width, height, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, 0, TENURE_MEMORY_MEM,
                        NULL, &image));
    OK(tenure_map(image, &map));
    OK(tenure_map_data(map, &data, &bytes));
    for (size_t i = 0; i < bytes; i++) ((uint8_t *)data)[i] = (uint8_t)(i / 3 % width * 4);
    tenure_map_release(map);
    return image;
}

/* The largest difference between two pictures. */
static int difference(const tenure_tensor_t *one, const tenure_tensor_t *other) {
    tenure_read_t *reads[2] = {NULL, NULL};
    const void *data[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    int most = 0;
    OK(tenure_map_read(one, &reads[0]));
    OK(tenure_map_read(other, &reads[1]));
    for (int i = 0; i < 2; i++) OK(tenure_read_data(reads[i], &data[i], &bytes[i]));
    CHECK(bytes[0] == bytes[1]);
    for (size_t i = 0; i < bytes[0]; i++) {
        int apart = ((const uint8_t *)data[0])[i] - ((const uint8_t *)data[1])[i];
        if (apart < 0) apart = -apart;
        if (apart > most) most = apart;
    }
    for (int i = 0; i < 2; i++) tenure_read_release(reads[i]);
    return most;
}

static void in_memory(void) {
    static struct file file;
    tenure_tensor_t *image = picture(48, 32), *back = NULL, *small = picture(16, 16);
    tenure_format_t format = TENURE_FORMAT_NONE;
    size_t width = 0, height = 0;
    for (int quality = 0; quality <= 95; quality += 95) {
        tenure_picture_t kind = quality == 0 ? TENURE_PICTURE_PNG : TENURE_PICTURE_JPEG;
        file.count = 0;
        OK(tenure_picture_encode(image, kind, (uint8_t)quality, take, &file));
        OK(tenure_picture_inspect(file.bytes, file.count, &width, &height, &format));
        CHECK(width == 48 && height == 32 && format == TENURE_FORMAT_RGB);
        OK(tenure_picture_decode(file.bytes, file.count, TENURE_MEMORY_SHM, &back));
        CHECK(difference(image, back) <= (quality == 0 ? 0 : 8));
        OK(tenure_picture_decode_into(file.bytes, file.count, back));
        FAILS(TENURE_STATUS_INVALID, "48x32",
              tenure_picture_decode_into(file.bytes, file.count, small));
        tenure_tensor_free(back);
        back = NULL;
        FAILS(TENURE_STATUS_DAMAGED, "decoded",
              tenure_picture_decode(file.bytes, file.count / 2, TENURE_MEMORY_MEM, &back));
        CHECK(back == NULL);
    }
    FAILS(TENURE_STATUS_INVALID, "101",
          tenure_picture_encode(image, TENURE_PICTURE_JPEG, 101, take, &file));
    FAILS(TENURE_STATUS_INVALID, "1 png", tenure_picture_encode(image, 7, 90, take, &file));
    FAILS(TENURE_STATUS_SYSTEM, "no more",
          tenure_picture_encode(image, TENURE_PICTURE_PNG, 0, take_nothing, NULL));
    FAILS(TENURE_STATUS_NULL, "taker",
          tenure_picture_encode(image, TENURE_PICTURE_PNG, 0, NULL, NULL));
    FAILS(TENURE_STATUS_DAMAGED, "neither",
          tenure_picture_inspect((const uint8_t *)"GIF89a..", 8, &width, &height, &format));
    FAILS(TENURE_STATUS_NULL, "bytes", tenure_picture_decode(NULL, 8, TENURE_MEMORY_MEM, &back));
    CHECK(tenure_picture_decode(NULL, 0, TENURE_MEMORY_MEM, &back) == TENURE_STATUS_DAMAGED);
    tenure_tensor_free(image);
    tenure_tensor_free(small);
}

static void on_the_disk(const char *folder) {
    tenure_tensor_t *image = picture(48, 32), *back = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/picture.png", folder);
    OK(tenure_picture_save(image, path));
    OK(tenure_picture_read(path, TENURE_MEMORY_MEM, &back));
    CHECK(difference(image, back) == 0);
    snprintf(path, sizeof path, "%s/picture.gif", folder);
    FAILS(TENURE_STATUS_INVALID, ".png", tenure_picture_save(image, path));
    FAILS(TENURE_STATUS_SYSTEM, "picture.gif", tenure_picture_read(path, TENURE_MEMORY_MEM, &back));
    tenure_tensor_free(image);
    tenure_tensor_free(back);
}

static void waited_for(void) {
    tenure_tensor_t *image = picture(64, 64), *small = picture(32, 32), *same = picture(32, 32);
    tenure_processor_t *processor = NULL;
    tenure_placement_t place;
    tenure_fence_t *fence = NULL, *other = NULL;
    struct pollfd polled;
    bool done = false;
    int ends[2], fd = -1;

    OK(tenure_processor_new("cpu", 1, &processor));
    OK(tenure_processor_convert(processor, image, same, NULL, NULL));
    OK(tenure_processor_convert_later(processor, image, small, NULL, &place, &fence));
    CHECK(place.width == 32 && place.to_source[0] == 2.0);
    OK(tenure_fence_clone_fd(fence, &fd));
    OK(tenure_fence_wait(fence, -1, &done));
    CHECK(done && difference(small, same) == 0);
    polled.fd = fd;
    polled.events = POLLIN;
    CHECK(poll(&polled, 1, 0) == 1);
    OK(tenure_fence_from_fd(fd, &other));
    CHECK(close(fd) == 0);
    done = false;
    OK(tenure_fence_wait(other, 0, &done));
    CHECK(done);
    tenure_fence_free(fence);
    tenure_fence_free(other);
    tenure_fence_free(NULL);

    /* Work of somebody else, which is not done yet, and then never will be. */
    CHECK(pipe(ends) == 0);
    OK(tenure_fence_from_fd(ends[0], &fence));
    OK(tenure_fence_wait(fence, 1000000, &done));
    CHECK(!done);
    CHECK(close(ends[1]) == 0);
    CHECK(tenure_fence_wait(fence, -1, &done) != TENURE_STATUS_OK);
    tenure_fence_free(fence);
    CHECK(close(ends[0]) == 0);
    FAILS(TENURE_STATUS_INVALID, "-1", tenure_fence_from_fd(-1, &fence));
    FAILS(TENURE_STATUS_NULL, "fence", tenure_fence_wait(NULL, 0, &done));
    FAILS(TENURE_STATUS_NULL, "fence",
          tenure_processor_convert_later(processor, image, small, NULL, NULL, NULL));
    /* The name that it had in version 0.1. */
    OK(tenure_processor_convert_async(processor, image, small, NULL, NULL, &fence));
    OK(tenure_fence_wait(fence, -1, &done));
    CHECK(done && difference(small, same) == 0);
    tenure_fence_free(fence);
    tenure_processor_free(processor);
    tenure_tensor_free(image);
    tenure_tensor_free(small);
    tenure_tensor_free(same);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    in_memory();
    on_the_disk(arguments[1]);
    waited_for();
    return 0;
}
