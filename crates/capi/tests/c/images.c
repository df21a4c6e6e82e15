/* Images, and one image into another. */
#include "check.h"
#include <math.h>

/* A grey picture of one value, as rgb. */
static tenure_tensor_t *grey(size_t width, size_t height, unsigned char value) {
    tenure_tensor_t *image = NULL;
    tenure_map_t *map = NULL;
    void *data = NULL;
    size_t bytes = 0;
    OK(tenure_image_new(width, height, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, 0, TENURE_MEMORY_MEM,
                        "picture", &image));
    OK(tenure_map(image, &map));
    OK(tenure_map_data(map, &data, &bytes));
    CHECK(bytes == width * height * 3);
    memset(data, value, bytes);
    tenure_map_release(map);
    return image;
}

static void what_it_is(void) {
    const size_t shape[] = {48, 64, 3};
    tenure_tensor_t *tensor = NULL, *face = NULL, *padded = NULL;
    tenure_format_t format = 0;
    tenure_matrix_t matrix = 0;
    tenure_range_t range = -1;
    size_t width = 0, height = 0, stride = 0;
    OK(tenure_tensor_new(shape, 3, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &tensor));
    OK(tenure_tensor_format(tensor, &format));
    CHECK(format == TENURE_FORMAT_NONE);
    FAILS(TENURE_STATUS_INVALID, "no image", tenure_image_size(tensor, &width, &height, &stride));
    CHECK(tenure_tensor_set_format(tensor, TENURE_FORMAT_RGBA) == TENURE_STATUS_INVALID);
    FAILS(TENURE_STATUS_INVALID, "7 nv12", tenure_tensor_set_format(tensor, 44));
    OK(tenure_tensor_set_format(tensor, TENURE_FORMAT_RGB));
    OK(tenure_tensor_format(tensor, &format));
    OK(tenure_image_size(tensor, &width, &height, &stride));
    CHECK(format == TENURE_FORMAT_RGB && width == 64 && height == 48 && stride == 192);

    OK(tenure_tensor_colour(tensor, &matrix, &range));
    CHECK(matrix == TENURE_MATRIX_NONE);
    OK(tenure_tensor_set_colour(tensor, TENURE_MATRIX_BT709, TENURE_RANGE_FULL));
    OK(tenure_tensor_colour(tensor, &matrix, &range));
    CHECK(matrix == TENURE_MATRIX_BT709 && range == TENURE_RANGE_FULL);
    FAILS(TENURE_STATUS_INVALID, "matrix", tenure_tensor_set_colour(tensor, 9, 0));
    OK(tenure_tensor_set_quantization(tensor, 0.5f, 3));
    CHECK(tenure_tensor_set_quantization(tensor, NAN, 3) == TENURE_STATUS_INVALID);

    OK(tenure_tensor_region(tensor, 16, 8, 32, 16, &face));
    OK(tenure_image_size(face, &width, &height, &stride));
    CHECK(width == 32 && height == 16 && stride == 192);
    OK(tenure_image_new(10, 10, TENURE_FORMAT_GREY, TENURE_DTYPE_U8, 64, TENURE_MEMORY_MEM, NULL,
                        &padded));
    OK(tenure_image_size(padded, &width, &height, &stride));
    CHECK(stride == 64);
    tenure_tensor_free(tensor);
    tenure_tensor_free(face);
    tenure_tensor_free(padded);
}

/* Unless a stride is asked for, rows follow each other, whatever memory there is; and new is zero. */
static void without_padding(void) {
    const tenure_memory_t memories[] = {TENURE_MEMORY_AUTO, TENURE_MEMORY_MEM};
    for (size_t one = 0; one < sizeof memories / sizeof *memories; one++) {
        tenure_tensor_t *image = NULL;
        tenure_read_t *read = NULL;
        const void *data = NULL;
        size_t width = 0, height = 0, stride = 0, bytes = 0;
        OK(tenure_image_new(33, 7, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, 0, memories[one], NULL,
                            &image));
        OK(tenure_image_size(image, &width, &height, &stride));
        CHECK(width == 33 && height == 7 && stride == 99);
        OK(tenure_map_read(image, &read));
        OK(tenure_read_data(read, &data, &bytes));
        CHECK(bytes == 99 * 7);
        for (size_t at = 0; at < bytes; at++) CHECK(((const unsigned char *)data)[at] == 0);
        tenure_read_release(read);
        tenure_tensor_free(image);
    }
}

static void a_letterbox(void) {
    const unsigned char fill[] = {114, 114, 114, 255};
    tenure_tensor_t *frame = grey(64, 32, 200), *input = NULL;
    tenure_processor_t *processor = NULL;
    tenure_convert_t *convert = NULL;
    tenure_placement_t place;
    tenure_read_t *read = NULL;
    const void *data = NULL;
    const float *values;

    OK(tenure_processor_new("cpu", 1, &processor));
    OK(tenure_convert_new(&convert));
    OK(tenure_convert_set_fit(convert, TENURE_FIT_LETTERBOX, fill));
    OK(tenure_convert_set_filter(convert, TENURE_FILTER_BILINEAR));
    OK(tenure_convert_set_normalize(convert, 1.0f / 255.0f, NULL, NULL));
    OK(tenure_image_new(32, 32, TENURE_FORMAT_PLANAR_RGB, TENURE_DTYPE_F32, 0, TENURE_MEMORY_MEM,
                        NULL, &input));
    OK(tenure_processor_convert(processor, frame, input, convert, &place));
    CHECK(place.x == 0 && place.y == 8 && place.width == 32 && place.height == 16);
    CHECK(place.to_source[0] == 2.0 && place.to_destination[0] == 0.5);

    OK(tenure_map_read(input, &read));
    OK(tenure_read_data(read, &data, NULL));
    values = (const float *)data;
    CHECK(fabsf(values[0] - 114.0f / 255.0f) < 0.002f);
    CHECK(fabsf(values[16 * 32 + 16] - 200.0f / 255.0f) < 0.002f);
    tenure_read_release(read);

    FAILS(TENURE_STATUS_INVALID, "letterbox", tenure_convert_set_fit(convert, 8, NULL));
    FAILS(TENURE_STATUS_INVALID, "lanczos3", tenure_convert_set_filter(convert, -1));
    FAILS(TENURE_STATUS_INVALID, "45", tenure_convert_set_turn(convert, 45, false, false));
    FAILS(TENURE_STATUS_INVALID, "siting", tenure_convert_set_colour(convert, 0, 0, 5));
    OK(tenure_convert_set_turn(convert, 90, true, false));
    OK(tenure_convert_set_colour(convert, TENURE_MATRIX_NONE, 0, TENURE_SITING_USUAL));
    OK(tenure_convert_set_crop(convert, 0, 0, 65, 32));
    CHECK(tenure_processor_convert(processor, frame, input, convert, NULL) ==
          TENURE_STATUS_INVALID);
    OK(tenure_convert_set_crop(convert, 0, 0, 32, 32));
    OK(tenure_convert_set_into(convert, 0, 0, 16, 16));
    OK(tenure_processor_convert(processor, frame, input, convert, NULL));
    tenure_convert_free(convert);
    tenure_processor_free(processor);
    tenure_tensor_free(frame);
    tenure_tensor_free(input);
}

static void a_batch(void) {
    const size_t shape[] = {2, 3, 16, 16};
    tenure_tensor_t *frames[2], *batch = NULL, *one = NULL;
    tenure_processor_t *processor = NULL;
    tenure_convert_t *convert = NULL;
    tenure_placement_t places[2];
    tenure_processor_t *none = NULL;
    frames[0] = grey(32, 32, 10);
    frames[1] = grey(16, 16, 20);
    OK(tenure_tensor_new(shape, 4, TENURE_DTYPE_F32, TENURE_MEMORY_MEM, NULL, &batch));
    OK(tenure_tensor_set_format(batch, TENURE_FORMAT_PLANAR_RGB));
    OK(tenure_processor_new(NULL, 0, &processor));
    OK(tenure_convert_new(&convert));
    OK(tenure_processor_convert_batch(processor, frames, 2, batch, NULL, places));
    CHECK(places[1].width == 16 && places[0].to_source[0] == 2.0);
    OK(tenure_tensor_batch(batch, 1, &one));
    CHECK(fabsf(first(one) - 20.0f) < 0.01f);
    FAILS(TENURE_STATUS_INVALID, "",
          tenure_processor_convert_batch(processor, frames, 1, batch, convert, NULL));
    FAILS(TENURE_STATUS_INVALID, "warp", tenure_processor_new("cpu,warp", 0, &none));

    /* Integers, with a scale of their own. */
    tenure_tensor_free(one);
    OK(tenure_image_new(16, 16, TENURE_FORMAT_RGB, TENURE_DTYPE_I8, 0, TENURE_MEMORY_MEM, NULL,
                        &one));
    OK(tenure_convert_set_quantize(convert, 1.0f, -128));
    OK(tenure_processor_convert(processor, frames[0], one, convert, NULL));
    tenure_convert_free(convert);
    tenure_processor_free(processor);
    tenure_tensor_free(frames[0]);
    tenure_tensor_free(frames[1]);
    tenure_tensor_free(batch);
    tenure_tensor_free(one);
}

int main(void) {
    what_it_is();
    without_padding();
    a_letterbox();
    a_batch();
    return 0;
}
