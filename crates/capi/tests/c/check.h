/* What all tests use: a check that says what was expected, and where. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenure.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not true: %s (last error: %s)\n", __FILE__, __LINE__, \
                    #condition, tenure_last_error());                                     \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* The call succeeds. */
#define OK(call) CHECK((call) == TENURE_STATUS_OK)

/* The call answers this status, and its text has these words. */
#define FAILS(status, words, call)                                \
    do {                                                          \
        CHECK((call) == (status));                                \
        CHECK(strstr(tenure_last_error(), (words)) != NULL);      \
    } while (0)

/* A heap tensor of floats that count up from 0. */
static inline tenure_tensor_t *counting(const size_t *shape, size_t rank) {
    tenure_tensor_t *tensor = NULL;
    tenure_map_t *map = NULL;
    void *data = NULL;
    size_t bytes = 0;
    OK(tenure_tensor_new(shape, rank, TENURE_DTYPE_F32, TENURE_MEMORY_MEM, NULL, &tensor));
    OK(tenure_map(tensor, &map));
    OK(tenure_map_data(map, &data, &bytes));
    for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)data)[i] = (float)i;
    tenure_map_release(map);
    return tensor;
}

/* The element with all indices 0. */
static inline float first(const tenure_tensor_t *tensor) {
    tenure_read_t *read = NULL;
    const void *data = NULL;
    float value;
    OK(tenure_map_read(tensor, &read));
    OK(tenure_read_data(read, &data, NULL));
    value = *(const float *)data;
    tenure_read_release(read);
    return value;
}

#endif
