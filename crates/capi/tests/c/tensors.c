/* Making tensors and asking them; maps exclude each other. */
#include "check.h"

static void what_it_is(void) {
    const size_t shape[] = {2, 3, 4};
    tenure_tensor_t *tensor = NULL, *other = NULL, *copy = NULL;
    const size_t *dims = NULL;
    const ptrdiff_t *strides = NULL;
    size_t rank = 0, bytes = 0;
    tenure_dtype_t dtype = -1;
    tenure_memory_t memory = -1;
    tenure_space_t space = -1;
    uint32_t device = 7;
    const char *name = NULL;
    bool yes = false;

    OK(tenure_tensor_new(shape, 3, TENURE_DTYPE_F32, TENURE_MEMORY_MEM, "weights", &tensor));
    OK(tenure_tensor_shape(tensor, &dims, &rank));
    CHECK(rank == 3 && memcmp(dims, shape, sizeof shape) == 0);
    OK(tenure_tensor_strides(tensor, &strides, &rank));
    CHECK(rank == 3 && strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
    OK(tenure_tensor_dtype(tensor, &dtype));
    OK(tenure_tensor_bytes(tensor, &bytes));
    OK(tenure_tensor_memory(tensor, &memory));
    OK(tenure_tensor_space(tensor, &space, &device));
    CHECK(dtype == TENURE_DTYPE_F32 && bytes == 96 && memory == TENURE_MEMORY_MEM);
    CHECK(space == TENURE_SPACE_MAIN && device == 0);
    OK(tenure_tensor_name(tensor, &name));
    CHECK(strcmp(name, "weights") == 0);
    OK(tenure_tensor_is_writable(tensor, &yes));
    CHECK(yes);

    OK(tenure_tensor_clone(tensor, &other));
    OK(tenure_tensor_aliases(tensor, other, &yes));
    CHECK(yes);
    OK(tenure_tensor_to(tensor, TENURE_MEMORY_SHM, &copy));
    OK(tenure_tensor_aliases(tensor, copy, &yes));
    CHECK(!yes);
    OK(tenure_tensor_memory(copy, &memory));
    CHECK(memory == TENURE_MEMORY_SHM && TENURE_MEMORY_DMA == 1);
    tenure_tensor_free(tensor);
    tenure_tensor_free(other);
    tenure_tensor_free(copy);
}

static void chosen_by_itself(void) {
    const size_t shape[] = {16};
    tenure_tensor_t *tensor = NULL;
    tenure_memory_t memory = -1;
    const char *name = "something";
    OK(tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_AUTO, NULL, &tensor));
    OK(tenure_tensor_memory(tensor, &memory));
    CHECK(memory >= TENURE_MEMORY_MEM && memory <= TENURE_MEMORY_SHM);
    OK(tenure_tensor_name(tensor, &name));
    CHECK(name == NULL);
    tenure_tensor_free(tensor);
}

static void a_number_and_nothing(void) {
    const size_t empty[] = {0, 5};
    tenure_tensor_t *scalar = NULL, *none = NULL;
    tenure_map_t *map = NULL;
    void *data = NULL;
    size_t bytes = 77;
    OK(tenure_tensor_new(NULL, 0, TENURE_DTYPE_F64, TENURE_MEMORY_MEM, NULL, &scalar));
    OK(tenure_tensor_bytes(scalar, &bytes));
    CHECK(bytes == 8);
    OK(tenure_tensor_new(empty, 2, TENURE_DTYPE_F64, TENURE_MEMORY_MEM, NULL, &none));
    OK(tenure_map(none, &map));
    OK(tenure_map_data(map, &data, &bytes));
    CHECK(bytes == 0);
    tenure_map_release(map);
    tenure_tensor_free(scalar);
    tenure_tensor_free(none);
}

static void maps_exclude_each_other(void) {
    const size_t shape[] = {4, 4};
    tenure_tensor_t *tensor = counting(shape, 2), *top = NULL, *bottom = NULL;
    tenure_map_t *map = NULL, *second = NULL;
    tenure_read_t *one = NULL, *two = NULL;
    void *data = NULL;

    OK(tenure_map(tensor, &map));
    FAILS(TENURE_STATUS_BUSY, "drop that guard first", tenure_map(tensor, &second));
    FAILS(TENURE_STATUS_BUSY, "held for", tenure_map_read(tensor, &one));
    CHECK(second == NULL && one == NULL);
    tenure_map_release(map);

    OK(tenure_map_read(tensor, &one));
    OK(tenure_map_read(tensor, &two));
    FAILS(TENURE_STATUS_BUSY, "held for", tenure_map(tensor, &second));
    OK(tenure_read_intact(one));
    tenure_read_release(one);
    tenure_read_release(two);

    /* Parts that share no bytes do not. */
    OK(tenure_tensor_slice(tensor, 0, 0, 2, 1, &top));
    OK(tenure_tensor_slice(tensor, 0, 2, 4, 1, &bottom));
    OK(tenure_map(top, &map));
    OK(tenure_map(bottom, &second));
    /* A map keeps the bytes when every tensor is gone. */
    tenure_tensor_free(tensor);
    tenure_tensor_free(top);
    tenure_tensor_free(bottom);
    OK(tenure_map_data(second, &data, NULL));
    CHECK(((float *)data)[0] == 8.0f);
    ((float *)data)[7] = 1.0f;
    tenure_map_release(map);
    tenure_map_release(second);
}

int main(void) {
    CHECK(tenure_abi_version() == TENURE_ABI_VERSION);
    CHECK(strchr(tenure_version(), '.') != NULL);
    what_it_is();
    chosen_by_itself();
    a_number_and_nothing();
    maps_exclude_each_other();
    return 0;
}
