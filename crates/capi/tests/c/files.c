/* Tensors on disk; the folder to write into is the first argument. */
#include "check.h"
#include <unistd.h>

static bool count_up(void *context, uint64_t done, uint64_t all) {
    *(uint64_t *)context = done;
    return done <= all;
}

static bool stop(void *context, uint64_t done, uint64_t all) {
    (void)context;
    (void)done;
    (void)all;
    return false;
}

static void a_model(const char *folder) {
    const size_t shape[] = {4, 8}, small[] = {3};
    const char *names[] = {"weight", "bias"}, *only[] = {"bias"}, *missing[] = {"wieght"};
    tenure_tensor_t *tensors[2], *tensor = NULL;
    tenure_file_t *file = NULL;
    tenure_loaded_t *loaded = NULL;
    tenure_pool_t *pool = NULL;
    tenure_map_t *map = NULL;
    tenure_memory_t memory = -1;
    const char *name = NULL;
    char path[4096];
    size_t count = 0;
    uint64_t seen = 0;

    tensors[0] = counting(shape, 2);
    tensors[1] = counting(small, 1);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    OK(tenure_save_safetensors(path, names, tensors, 2));
    OK(tenure_file_open(path, &file));
    OK(tenure_file_count(file, &count));
    OK(tenure_file_name(file, 0, &name));
    CHECK(count == 2 && strcmp(name, "weight") == 0);
    FAILS(TENURE_STATUS_NOT_FOUND, "there are 2", tenure_file_name(file, 2, &name));
    FAILS(TENURE_STATUS_NOT_FOUND, "weight", tenure_file_tensor(file, "weigth", &tensor));

    OK(tenure_file_tensor(file, "weight", &tensor));
    OK(tenure_tensor_memory(tensor, &memory));
    CHECK(memory == TENURE_MEMORY_FILE);
    FAILS(TENURE_STATUS_READ_ONLY, "read-only", tenure_map(tensor, &map));

    OK(tenure_file_load(file, NULL, 0, TENURE_MEMORY_SHM, NULL, count_up, &seen, &loaded));
    OK(tenure_loaded_count(loaded, &count));
    CHECK(count == 2 && seen == (32 + 3) * sizeof(float));
    tenure_loaded_free(loaded);
    tenure_tensor_free(tensor);

    OK(tenure_pool_new(TENURE_MEMORY_MEM, SIZE_MAX, 8, &pool));
    OK(tenure_file_load(file, only, 1, TENURE_MEMORY_AUTO, pool, NULL, NULL, &loaded));
    OK(tenure_loaded_count(loaded, &count));
    OK(tenure_loaded_tensor(loaded, 0, &name, &tensor));
    CHECK(count == 1 && strcmp(name, "bias") == 0);
    FAILS(TENURE_STATUS_NOT_FOUND, "", tenure_loaded_tensor(loaded, 1, NULL, &tensors[1]));
    tenure_loaded_free(loaded);
    CHECK(first(tensor) == 0.0f);
    OK(tenure_map(tensor, &map));
    tenure_map_release(map);
    FAILS(TENURE_STATUS_NOT_FOUND, "wieght",
          tenure_file_load(file, missing, 1, TENURE_MEMORY_MEM, NULL, NULL, NULL, &loaded));
    FAILS(TENURE_STATUS_STOPPED, "stopped",
          tenure_file_load(file, NULL, 0, TENURE_MEMORY_MEM, NULL, stop, NULL, &loaded));
    tenure_tensor_free(tensor);
    tenure_file_free(file);
    tenure_pool_free(pool);
    names[1] = "weight";
    FAILS(TENURE_STATUS_INVALID, "weight", tenure_save_safetensors(path, names, tensors, 2));
    tenure_tensor_free(tensors[0]);
    tenure_tensor_free(tensors[1]);
}

static void an_array(const char *folder) {
    const size_t shape[] = {2, 2};
    tenure_tensor_t *tensor = counting(shape, 2), *back = NULL;
    tenure_file_t *file = NULL;
    char path[4096];
    FILE *broken;
    snprintf(path, sizeof path, "%s/numbers.npy", folder);
    OK(tenure_save_npy(path, tensor));
    OK(tenure_file_open(path, &file));
    OK(tenure_file_tensor(file, "numbers", &back));
    /* A tensor stays when its file is given back. */
    tenure_file_free(file);
    CHECK(first(back) == 0.0f);
    tenure_tensor_free(back);

    snprintf(path, sizeof path, "%s/none/numbers.npy", folder);
    CHECK(tenure_save_npy(path, tensor) == TENURE_STATUS_SYSTEM);
    CHECK(tenure_file_open(path, &file) == TENURE_STATUS_SYSTEM);
    snprintf(path, sizeof path, "%s/broken.npy", folder);
    broken = fopen(path, "wb");
    CHECK(broken != NULL && fputs("this is no array", broken) >= 0 && fclose(broken) == 0);
    FAILS(TENURE_STATUS_DAMAGED, "begins with", tenure_file_open(path, &file));
    tenure_tensor_free(tensor);
}

static void what_it_says(const char *folder) {
    const size_t shape[] = {3};
    const char *names[] = {"x"}, *keys[] = {"made", "by"}, *values[] = {"here", "us"};
    const char *key = NULL, *value = NULL;
    tenure_tensor_t *tensor = counting(shape, 1);
    tenure_file_t *file = NULL;
    char path[4096];
    size_t count = 9;
    snprintf(path, sizeof path, "%s/said.safetensors", folder);
    OK(tenure_save_safetensors(path, names, &tensor, 1));
    OK(tenure_file_open(path, &file));
    OK(tenure_file_metadata_count(file, &count));
    CHECK(count == 0);
    tenure_file_free(file);
    OK(tenure_save_safetensors_with_metadata(path, names, &tensor, 1, keys, values, 2));
    OK(tenure_file_open(path, &file));
    OK(tenure_file_metadata_count(file, &count));
    CHECK(count == 2);
    for (size_t i = 0; i < count; i++) {
        OK(tenure_file_metadata(file, i, &key, &value));
        CHECK(strcmp(key, "made") == 0 ? strcmp(value, "here") == 0
                                       : strcmp(key, "by") == 0 && strcmp(value, "us") == 0);
    }
    FAILS(TENURE_STATUS_NOT_FOUND, "there are 2", tenure_file_metadata(file, 2, &key, &value));
    FAILS(TENURE_STATUS_NULL, "value", tenure_file_metadata(file, 0, &key, NULL));
    FAILS(TENURE_STATUS_NULL, "keys",
          tenure_save_safetensors_with_metadata(path, names, &tensor, 1, NULL, values, 2));
    tenure_file_free(file);
    tenure_tensor_free(tensor);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    a_model(arguments[1]);
    an_array(arguments[1]);
    what_it_says(arguments[1]);
    return 0;
}
