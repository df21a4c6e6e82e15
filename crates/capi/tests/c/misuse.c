/* Handles used twice, after free, as another kind, and from other threads; every code out of its
 * range. With TENURE_CHECK_HANDLES=1 all of it is an answer. */
#include "check.h"
#include <limits.h>
#include <pthread.h>

static const size_t SHAPE[] = {4, 4};

static void freed_handles(void) {
    tenure_tensor_t *tensor = counting(SHAPE, 2), *other = NULL;
    tenure_map_t *map = NULL;
    tenure_read_t *read = NULL;
    tenure_pool_t *pool = NULL;
    tenure_convert_t *convert = NULL;
    size_t bytes = 0;
    void *data = NULL;

    OK(tenure_map(tensor, &map));
    tenure_tensor_free(tensor);
    FAILS(TENURE_STATUS_INVALID, "was freed", tenure_tensor_clone(tensor, &other));
    FAILS(TENURE_STATUS_INVALID, "was freed", tenure_tensor_bytes(tensor, &bytes));
    FAILS(TENURE_STATUS_INVALID, "was freed", tenure_map_read(tensor, &read));
    tenure_tensor_free(tensor);
    CHECK(strstr(tenure_last_error(), "was freed") != NULL);
    /* The map keeps the bytes. */
    OK(tenure_map_data(map, &data, &bytes));
    CHECK(((float *)data)[15] == 15.0f && bytes == 64);
    tenure_map_release(map);
    FAILS(TENURE_STATUS_INVALID, "was freed", tenure_map_data(map, &data, &bytes));
    tenure_map_release(map);

    OK(tenure_pool_new(TENURE_MEMORY_MEM, 1 << 20, 4, &pool));
    OK(tenure_pool_tensor(pool, SHAPE, 2, TENURE_DTYPE_F32, NULL, &tensor));
    tenure_pool_free(pool);
    FAILS(TENURE_STATUS_INVALID, "was freed", tenure_pool_trim(pool));
    tenure_pool_free(pool);
    tenure_tensor_free(tensor);

    OK(tenure_convert_new(&convert));
    tenure_convert_free(convert);
    FAILS(TENURE_STATUS_INVALID, "was freed", tenure_convert_set_filter(convert, 0));
    tenure_convert_free(convert);
}

static void other_kinds(void) {
    tenure_tensor_t *tensor = counting(SHAPE, 2), *made = NULL;
    tenure_pool_t *pool = NULL;
    size_t local[16] = {0}, bytes = 0;

    OK(tenure_pool_new(TENURE_MEMORY_MEM, 1 << 20, 4, &pool));
    FAILS(TENURE_STATUS_INVALID, "and no TensorHandle",
          tenure_tensor_clone((const tenure_tensor_t *)pool, &made));
    FAILS(TENURE_STATUS_INVALID, "and no PoolHandle",
          tenure_pool_trim((const tenure_pool_t *)tensor));
    FAILS(TENURE_STATUS_INVALID, "no handle of this library",
          tenure_tensor_bytes((const tenure_tensor_t *)(void *)local, &bytes));
    tenure_tensor_free((tenure_tensor_t *)(void *)local);
    tenure_map_release((tenure_map_t *)(void *)tensor);
    OK(tenure_tensor_bytes(tensor, &bytes));
    tenure_pool_free(pool);
    tenure_tensor_free(tensor);
    CHECK(made == NULL);
}

/* Every code that a call takes, with every value around those that there are. */
static void codes(void) {
    static const int wild[] = {INT_MIN, -1000, -2, 99, 255, 256, 1000, 65536, INT_MAX};
    tenure_tensor_t *tensor = counting(SHAPE, 2), *made = NULL;
    tenure_pool_t *pool = NULL;
    tenure_convert_t *convert = NULL;
    tenure_spec_t *spec = NULL;
    tenure_schedule_t *schedule = NULL;
    tenure_plan_t *plan = NULL;
    OK(tenure_convert_new(&convert));
    OK(tenure_schedule_new(&schedule));
    for (size_t at = 0; at < sizeof wild / sizeof *wild; at++) {
        const int code = wild[at];
        CHECK(tenure_tensor_new(SHAPE, 2, code, TENURE_MEMORY_MEM, NULL, &made) ==
              TENURE_STATUS_INVALID);
        CHECK(tenure_tensor_new(SHAPE, 2, TENURE_DTYPE_U8, code, NULL, &made) ==
              TENURE_STATUS_INVALID);
        CHECK(tenure_tensor_lazy(SHAPE, 2, TENURE_DTYPE_U8, code, NULL, &made) ==
              TENURE_STATUS_INVALID);
        CHECK(tenure_tensor_to(tensor, code, &made) == TENURE_STATUS_INVALID);
        CHECK(tenure_tensor_to_space(tensor, code, 0, &made) == TENURE_STATUS_INVALID);
        CHECK(tenure_image_new(8, 8, code, TENURE_DTYPE_U8, 0, TENURE_MEMORY_MEM, NULL, &made) ==
              TENURE_STATUS_INVALID);
        CHECK(tenure_tensor_set_format(tensor, code) == TENURE_STATUS_INVALID);
        CHECK(tenure_tensor_set_colour(tensor, code, code) == TENURE_STATUS_INVALID);
        CHECK(tenure_pool_new(code, 1, 1, &pool) == TENURE_STATUS_INVALID);
        CHECK(tenure_convert_set_filter(convert, code) == TENURE_STATUS_INVALID);
        CHECK(tenure_convert_set_fit(convert, code, NULL) != TENURE_STATUS_OK);
        CHECK(tenure_convert_set_colour(convert, code, code, code) == TENURE_STATUS_INVALID);
        CHECK(tenure_spec_tensor(SHAPE, 2, code, &spec) == TENURE_STATUS_INVALID);
        CHECK(tenure_spec_image(8, 8, code, TENURE_DTYPE_U8, 0, &spec) == TENURE_STATUS_INVALID);
        CHECK(tenure_plan_new(schedule, code, 0, &plan) == TENURE_STATUS_INVALID);
    }
    CHECK(made == NULL && pool == NULL && spec == NULL && plan == NULL);
    tenure_schedule_free(schedule);
    tenure_convert_free(convert);
    tenure_tensor_free(tensor);
}

static void *use(void *context) {
    const tenure_tensor_t *tensor = (const tenure_tensor_t *)context;
    for (int round = 0; round < 300; round++) {
        tenure_tensor_t *clone = NULL;
        size_t bytes = 0;
        OK(tenure_tensor_clone(tensor, &clone));
        OK(tenure_tensor_bytes(clone, &bytes));
        CHECK(bytes == 64);
        tenure_tensor_free(clone);
    }
    return NULL;
}

/* Handles that are made here and freed elsewhere, and one handle that many threads free. */
static void *release(void *context) {
    tenure_tensor_free((tenure_tensor_t *)context);
    return NULL;
}

static void threads(void) {
    pthread_t thread[4];
    tenure_tensor_t *tensor = counting(SHAPE, 2);
    for (int at = 0; at < 4; at++) CHECK(pthread_create(&thread[at], NULL, use, tensor) == 0);
    for (int at = 0; at < 4; at++) CHECK(pthread_join(thread[at], NULL) == 0);
    /* Freed four times at once: once is right, three times nothing happens. */
    for (int at = 0; at < 4; at++) {
        CHECK(pthread_create(&thread[at], NULL, release, tensor) == 0);
    }
    for (int at = 0; at < 4; at++) CHECK(pthread_join(thread[at], NULL) == 0);
}

int main(void) {
    setenv("TENURE_CHECK_HANDLES", "1", 1);
    freed_handles();
    other_kinds();
    codes();
    threads();
    return 0;
}
