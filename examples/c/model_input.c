/*
 * A camera frame as a model wants it, in C: letterboxed to 640 by 640, as floats between 0 and 1,
 * one plane for each colour, in memory from a pool that a loop would take again and again.
 *
 * Build and run, after `cargo xtask c-install PREFIX` and with PREFIX/lib/pkgconfig in
 * PKG_CONFIG_PATH:
 *
 *   cc -Wall -Wextra model_input.c $(pkg-config --cflags --libs tenure) -o model_input
 *   ./model_input input.npy
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenure.h>

/* Every call answers a status; what went wrong is a text. */
static void check(tenure_status_t status, const char *what) {
    if (status != TENURE_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, tenure_last_error());
        exit(1);
    }
}

/* What a camera would do: fills the luma plane with a ramp and the chroma plane with grey. */
static void take_picture(tenure_tensor_t *frame) {
    tenure_tensor_t *plane = NULL;
    tenure_map_t *map = NULL;
    void *data = NULL;
    size_t bytes = 0;
    for (size_t index = 0; index < 2; index++) {
        check(tenure_tensor_plane(frame, index, &plane), "plane");
        check(tenure_map(plane, &map), "map");
        check(tenure_map_data(map, &data, &bytes), "data");
        for (size_t i = 0; i < bytes; i++)
            ((unsigned char *)data)[i] = index == 0 ? (unsigned char)(i % 1920 * 255 / 1919) : 128;
        tenure_map_release(map);
        tenure_tensor_free(plane);
    }
}

int main(int count, char **arguments) {
    const unsigned char grey[] = {114, 114, 114, 255};
    tenure_pool_t *pool = NULL;
    tenure_processor_t *processor = NULL;
    tenure_convert_t *convert = NULL;
    tenure_tensor_t *frame = NULL, *input = NULL;
    tenure_read_t *read = NULL;
    tenure_placement_t place;
    const void *data = NULL;

    if (tenure_abi_version() != TENURE_ABI_VERSION) {
        fprintf(stderr, "libtenure %s is not the one of this header\n", tenure_version());
        return 1;
    }
    /* Made once. */
    check(tenure_pool_new(TENURE_MEMORY_SHM, (size_t)64 << 20, 4, &pool), "pool");
    check(tenure_processor_new(NULL, 0, &processor), "processor");
    check(tenure_convert_new(&convert), "convert");
    check(tenure_convert_set_fit(convert, TENURE_FIT_LETTERBOX, grey), "fit");
    check(tenure_convert_set_normalize(convert, 1.0f / 255.0f, NULL, NULL), "normalize");

    /* For every frame. */
    check(tenure_pool_image(pool, 1920, 1080, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, 0, "frame",
                            &frame), "frame");
    check(tenure_tensor_set_colour(frame, TENURE_MATRIX_BT709, TENURE_RANGE_FULL), "colour");
    check(tenure_pool_image(pool, 640, 640, TENURE_FORMAT_PLANAR_RGB, TENURE_DTYPE_F32, 0, "input",
                            &input), "input");
    take_picture(frame);
    check(tenure_processor_convert(processor, frame, input, convert, &place), "convert");
    printf("the picture covers %zux%zu pixels at (%zu, %zu)\n", place.width, place.height, place.x,
           place.y);
    printf("a detection at (320, 320) is at (%.0f, %.0f) in the frame\n",
           place.to_source[0] * 320 + place.to_source[2],
           place.to_source[4] * 320 + place.to_source[5]);

    check(tenure_map_read(input, &read), "read");
    check(tenure_read_data(read, &data, NULL), "data");
    printf("red goes from %.2f to %.2f\n", ((const float *)data)[320 * 640],
           ((const float *)data)[320 * 640 + 639]);
    tenure_read_release(read);
    if (count > 1) check(tenure_save_npy(arguments[1], input), "save");

    tenure_tensor_free(frame);
    tenure_tensor_free(input);
    tenure_convert_free(convert);
    tenure_processor_free(processor);
    tenure_pool_free(pool);
    return 0;
}
