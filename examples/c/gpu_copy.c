/*
 * The devices of this machine, in C, and a frame that goes to the first of them and comes back while
 * the program goes on.
 *
 * Build and run, after `cargo xtask c-install PREFIX` and with PREFIX/lib/pkgconfig in
 * PKG_CONFIG_PATH:
 *
 *   cc -Wall -Wextra gpu_copy.c $(pkg-config --cflags --libs tenure) -o gpu_copy
 *   ./gpu_copy
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenure.h>

/* Every call answers a status; what went wrong is a text. */
static void check(tenure_status_t status, const char *what) {
    if (status != TENURE_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, tenure_last_error());
        exit(1);
    }
}

int main(void) {
    const size_t shape[] = {1080, 1920, 4};
    tenure_devices_t *devices = NULL;
    tenure_device_t *device = NULL;
    tenure_tensor_t *frame = NULL, *there = NULL, *back = NULL;
    tenure_fence_t *fence = NULL;
    size_t found = 0, missing = 0;
    const char *word = NULL, *name = NULL, *reason = NULL, *usable = NULL;
    bool done = false;

    check(tenure_devices_list(&devices), "listing devices");
    check(tenure_devices_count(devices, &found, &missing), "counting them");
    for (size_t i = 0; i < found; i++) {
        check(tenure_devices_entry(devices, i, &word, &name, NULL, NULL, &reason), "one of them");
        printf("%s: %s%s%s\n", word, name, reason ? ", not usable: " : "", reason ? reason : "");
        if (usable == NULL && reason == NULL) usable = word;
    }
    for (size_t i = 0; i < missing; i++) {
        check(tenure_devices_missing(devices, i, &word, &reason), "what is missing");
        printf("%s: %s\n", word, reason);
    }
    if (usable == NULL) {
        printf("nothing to copy to\n");
        tenure_devices_free(devices);
        return 0;
    }

    check(tenure_device_open(usable, &device), "opening it");
    check(tenure_tensor_new(shape, 3, TENURE_DTYPE_U8, TENURE_MEMORY_AUTO, "frame", &frame),
          "allocating");
    check(tenure_device_to(device, frame, TENURE_MEMORY_DEVICE, &there), "copying there");
    check(tenure_tensor_new(shape, 3, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, "back", &back),
          "allocating");
    check(tenure_tensor_copy_from_later(back, there, &fence), "copying back");
    /* The program does something else here; nobody can map `back` before the copy is done. */
    check(tenure_fence_wait(fence, -1, &done), "waiting");
    printf("the frame went to %s and came back\n", usable);

    tenure_fence_free(fence);
    tenure_tensor_free(back);
    tenure_tensor_free(there);
    tenure_tensor_free(frame);
    tenure_device_free(device);
    tenure_devices_free(devices);
    return 0;
}
