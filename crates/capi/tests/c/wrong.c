/* Null pointers and wrong values are answers, not crashes; every thread has its own text. */
#include "check.h"
#include <pthread.h>

static void nulls(void) {
    const size_t shape[] = {4};
    tenure_tensor_t *tensor = counting(shape, 1), *made = NULL;
    tenure_pool_t *pool = NULL;
    tenure_convert_t *convert = NULL;
    tenure_schedule_t *schedule = NULL;
    tenure_plan_t *plan = NULL;
    tenure_file_t *file = NULL;
    size_t number = 0;
    const size_t *dims = NULL;
    int fd = -1;

    FAILS(TENURE_STATUS_NULL, "shape is a null pointer",
          tenure_tensor_new(NULL, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &made));
    FAILS(TENURE_STATUS_NULL, "tensor is a null pointer",
          tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_tensor_clone(NULL, &made));
    FAILS(TENURE_STATUS_NULL, "clone", tenure_tensor_clone(tensor, NULL));
    FAILS(TENURE_STATUS_NULL, "rank", tenure_tensor_shape(tensor, &dims, NULL));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_tensor_dtype(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "map", tenure_map(tensor, NULL));
    FAILS(TENURE_STATUS_NULL, "map", tenure_map_data(NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "read", tenure_read_data(NULL, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "read", tenure_read_intact(NULL));
    FAILS(TENURE_STATUS_NULL, "axes", tenure_tensor_permute(tensor, NULL, 1, &made));
    FAILS(TENURE_STATUS_NULL, "fd", tenure_tensor_clone_fd(tensor, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_tensor_clone_fd(NULL, &fd, NULL));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_send(0, NULL, false));
    FAILS(TENURE_STATUS_NULL, "managed", tenure_tensor_to_dlpack(tensor, false, NULL));
    FAILS(TENURE_STATUS_INVALID, "null", tenure_tensor_from_dlpack(NULL, &made));
    FAILS(TENURE_STATUS_INVALID, "null", tenure_tensor_from_dlpack_legacy(NULL, &made));
    FAILS(TENURE_STATUS_NULL, "pool", tenure_pool_new(TENURE_MEMORY_MEM, 0, 0, NULL));
    FAILS(TENURE_STATUS_NULL, "pool", tenure_pool_report(NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "convert", tenure_convert_new(NULL));
    FAILS(TENURE_STATUS_NULL, "convert", tenure_convert_set_filter(NULL, 0));
    FAILS(TENURE_STATUS_NULL, "processor", tenure_processor_new(NULL, 1, NULL));
    FAILS(TENURE_STATUS_NULL, "processor",
          tenure_processor_convert(NULL, tensor, tensor, NULL, NULL));
    FAILS(TENURE_STATUS_NULL, "path", tenure_file_open(NULL, &file));
    FAILS(TENURE_STATUS_NULL, "file", tenure_file_count(NULL, &number));
    FAILS(TENURE_STATUS_NULL, "path", tenure_save_npy(NULL, tensor));
    FAILS(TENURE_STATUS_NULL, "names", tenure_save_safetensors("x", NULL, NULL, 1));
    FAILS(TENURE_STATUS_NULL, "schedule", tenure_plan_new(NULL, 0, 0, &plan));
    FAILS(TENURE_STATUS_NULL, "plan", tenure_plan_place(NULL, 0, NULL, NULL));
    CHECK(made == NULL && pool == NULL && convert == NULL && schedule == NULL && plan == NULL);

    tenure_tensor_free(NULL);
    tenure_map_release(NULL);
    tenure_read_release(NULL);
    tenure_pool_free(NULL);
    tenure_convert_free(NULL);
    tenure_processor_free(NULL);
    tenure_file_free(NULL);
    tenure_loaded_free(NULL);
    tenure_schedule_free(NULL);
    tenure_plan_free(NULL);
    tenure_tensor_free(tensor);
}

static void values(void) {
    const size_t shape[] = {4}, huge[] = {SIZE_MAX, SIZE_MAX}, large[] = {(size_t)1 << 60};
    tenure_tensor_t *made = NULL;
    tenure_pool_t *pool = NULL;
    FAILS(TENURE_STATUS_INVALID, "99 is no element type",
          tenure_tensor_new(shape, 1, 99, TENURE_MEMORY_MEM, NULL, &made));
    FAILS(TENURE_STATUS_INVALID, "1 dma",
          tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, 1000, NULL, &made));
    FAILS(TENURE_STATUS_INVALID, "dimensions",
          tenure_tensor_new(shape, SIZE_MAX, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &made));
    FAILS(TENURE_STATUS_INVALID, "",
          tenure_tensor_new(huge, 2, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &made));
    FAILS(TENURE_STATUS_OUT_OF_MEMORY, "bytes",
          tenure_tensor_new(large, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, NULL, &made));
    FAILS(TENURE_STATUS_INVALID, "no UTF-8",
          tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, "\xff", &made));
    FAILS(TENURE_STATUS_UNAVAILABLE, "pinned",
          tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_PINNED, NULL, &made));
    FAILS(TENURE_STATUS_INVALID, "must be named", tenure_pool_new(-1, 0, 0, &pool));
    FAILS(TENURE_STATUS_INVALID, "0 or more",
          tenure_tensor_from_fd(-1, shape, 1, TENURE_DTYPE_U8, NULL, &made));
    FAILS(TENURE_STATUS_SYSTEM, "",
          tenure_tensor_from_fd(99999, shape, 1, TENURE_DTYPE_U8, NULL, &made));
    CHECK(made == NULL && pool == NULL);
}

static void *elsewhere(void *context) {
    (void)context;
    CHECK(strcmp(tenure_last_error(), "") == 0);
    FAILS(TENURE_STATUS_NULL, "convert", tenure_convert_new(NULL));
    return NULL;
}

static void every_thread_has_its_own_text(void) {
    pthread_t thread;
    FAILS(TENURE_STATUS_NULL, "plan", tenure_plan_arena_count(NULL, NULL));
    CHECK(pthread_create(&thread, NULL, elsewhere, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strstr(tenure_last_error(), "plan") != NULL);
}

int main(void) {
    CHECK(strcmp(tenure_last_error(), "") == 0);
    nulls();
    values();
    every_thread_has_its_own_text();
    return 0;
}
