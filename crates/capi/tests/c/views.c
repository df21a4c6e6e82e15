/* Views: the same bytes, seen differently. */
#include "check.h"

int main(void) {
    const size_t shape[] = {2, 3, 4}, flat[] = {6, 4}, wrong[] = {5, 5}, many[] = {7, 2, 3, 4};
    const size_t turned[] = {2, 0, 1}, twice[] = {0, 0, 1};
    tenure_tensor_t *tensor = counting(shape, 3), *view = NULL, *copy = NULL, *wide = NULL;
    const size_t *dims = NULL;
    const ptrdiff_t *strides = NULL;
    size_t rank = 0;
    tenure_map_t *map = NULL;
    tenure_read_t *read = NULL;
    void *data = NULL;
    const void *seen = NULL;
    size_t bytes = 77;
    bool same = false;

    OK(tenure_tensor_index(tensor, 0, 1, &view));
    CHECK(first(view) == 12.0f);
    tenure_tensor_free(view);
    OK(tenure_tensor_slice(tensor, 2, 1, 4, 2, &view));
    OK(tenure_tensor_shape(view, &dims, &rank));
    OK(tenure_tensor_strides(view, &strides, &rank));
    CHECK(rank == 3 && dims[2] == 2 && strides[2] == 2 && first(view) == 1.0f);
    /* Between its elements lie those of others: there is no number of bytes to fill. */
    OK(tenure_map(view, &map));
    FAILS(TENURE_STATUS_UNSUPPORTED, "tenure_tensor_strides", tenure_map_data(map, &data, &bytes));
    CHECK(data == NULL && bytes == 77);
    OK(tenure_map_data(map, &data, NULL));
    ((float *)data)[strides[2]] = 30.0f;
    tenure_map_release(map);
    OK(tenure_map_read(view, &read));
    FAILS(TENURE_STATUS_UNSUPPORTED, "pass NULL", tenure_read_data(read, &seen, &bytes));
    OK(tenure_read_data(read, &seen, NULL));
    CHECK(((const float *)seen)[2] == 30.0f && ((const float *)seen)[1] == 2.0f);
    tenure_read_release(read);
    tenure_tensor_free(view);

    OK(tenure_tensor_reshape(tensor, flat, 2, &view));
    OK(tenure_tensor_aliases(tensor, view, &same));
    CHECK(same);
    tenure_tensor_free(view);
    FAILS(TENURE_STATUS_INVALID, "25", tenure_tensor_reshape(tensor, wrong, 2, &view));

    OK(tenure_tensor_permute(tensor, turned, 3, &view));
    OK(tenure_tensor_to(view, TENURE_MEMORY_MEM, &copy));
    OK(tenure_tensor_shape(copy, &dims, &rank));
    CHECK(dims[0] == 4 && dims[1] == 2 && dims[2] == 3);
    OK(tenure_tensor_copy_from(view, copy));
    tenure_tensor_free(copy);
    tenure_tensor_free(view);
    FAILS(TENURE_STATUS_INVALID, "", tenure_tensor_permute(tensor, twice, 3, &view));

    OK(tenure_tensor_broadcast_to(tensor, many, 4, &wide));
    CHECK(first(wide) == 0.0f);
    FAILS(TENURE_STATUS_UNSUPPORTED, "share bytes", tenure_map(wide, &map));
    tenure_tensor_free(wide);

    OK(tenure_tensor_batch(tensor, 1, &view));
    CHECK(first(view) == 12.0f);
    tenure_tensor_free(view);

    FAILS(TENURE_STATUS_INVALID, "", tenure_tensor_slice(tensor, 0, 1, 3, 1, &view));
    FAILS(TENURE_STATUS_INVALID, "", tenure_tensor_slice(tensor, 0, 0, 2, 0, &view));
    FAILS(TENURE_STATUS_INVALID, "", tenure_tensor_index(tensor, 3, 0, &view));
    FAILS(TENURE_STATUS_INVALID, "", tenure_tensor_index(tensor, 0, SIZE_MAX, &view));
    FAILS(TENURE_STATUS_INVALID, "no image", tenure_tensor_region(tensor, 0, 0, 1, 1, &view));
    FAILS(TENURE_STATUS_INVALID, "no image", tenure_tensor_plane(tensor, 0, &view));
    tenure_tensor_free(tensor);
    return 0;
}
