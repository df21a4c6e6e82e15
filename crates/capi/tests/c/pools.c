/* Pools: memory that is handed out again. */
#include "check.h"

int main(void) {
    const size_t shape[] = {256, 256};
    tenure_pool_t *pool = NULL;
    tenure_tensor_t *tensor = NULL, *image = NULL;
    tenure_pool_report_t report;
    OK(tenure_pool_new(TENURE_MEMORY_SHM, SIZE_MAX, 4, &pool));
    for (int round = 0; round < 3; round++) {
        OK(tenure_pool_tensor(pool, shape, 2, TENURE_DTYPE_F32, "frame", &tensor));
        tenure_tensor_free(tensor);
    }
    OK(tenure_pool_report(pool, &report));
    CHECK(report.misses == 1 && report.hits == 2 && report.used == 0 && report.kept == 1);
    OK(tenure_pool_image(pool, 640, 480, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, 0, NULL, &image));
    OK(tenure_pool_report(pool, &report));
    CHECK(report.used == 1 && report.used_bytes >= 640 * 480 * 3 / 2);
    OK(tenure_pool_trim(pool));
    OK(tenure_pool_report(pool, &report));
    CHECK(report.kept == 0 && report.kept_bytes == 0);
    /* A limit is for all that the pool has. */
    tenure_pool_t *small = NULL;
    const size_t half[] = {5, 131072}, most[] = {5, 200000};
    OK(tenure_pool_new(TENURE_MEMORY_MEM, 1 << 20, 4, &small));
    OK(tenure_pool_tensor(small, half, 2, TENURE_DTYPE_U8, NULL, &tensor));
    FAILS(TENURE_STATUS_OUT_OF_MEMORY, "limited to 1048576 bytes",
          tenure_pool_tensor(small, half, 2, TENURE_DTYPE_U8, NULL, &image));
    tenure_tensor_free(tensor);
    OK(tenure_pool_tensor(small, most, 2, TENURE_DTYPE_U8, NULL, &tensor));
    OK(tenure_pool_report(small, &report));
    CHECK(report.used_bytes + report.kept_bytes <= 1 << 20);
    tenure_tensor_free(tensor);
    tenure_pool_free(small);
    /* The pool may go first. */
    tenure_pool_free(pool);
    tenure_tensor_free(image);
    return 0;
}
