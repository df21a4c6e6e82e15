/*
 * A stream of pictures from one process to another, in C: the producer fills slots of shared memory
 * and publishes them, the consumer reads them where they are, and neither can hurt the other.
 *
 * Build and run, after `cargo xtask c-install PREFIX` and with PREFIX/lib/pkgconfig in
 * PKG_CONFIG_PATH:
 *
 *   cc -Wall -Wextra camera_stream.c $(pkg-config --cflags --libs tenure) -o camera_stream
 *   ./camera_stream
 *
 * While it runs, `tenure stream ls` and `tenure view` show the stream.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tenure.h>
#include <unistd.h>

enum { WIDTH = 640, HEIGHT = 480, FRAMES = 30 };

/* Every call answers a status; what went wrong is a text. */
static void check(tenure_status_t status, const char *what) {
    if (status != TENURE_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", what, tenure_last_error());
        exit(1);
    }
}

/* What a camera would do: a picture whose brightness is its number. */
static void publish(tenure_publisher_t *publisher, int number) {
    tenure_slot_t *slot = NULL;
    tenure_tensor_t *picture = NULL;
    tenure_map_t *map = NULL;
    tenure_frame_meta_t meta = {0};
    void *pixels = NULL;
    size_t bytes = 0;
    check(tenure_publisher_claim(publisher, NULL, &slot), "claim");
    check(tenure_slot_tensor(slot, &picture), "tensor");
    check(tenure_map(picture, &map), "map");
    check(tenure_map_data(map, &pixels, &bytes), "data");
    memset(pixels, number, bytes);
    /* Nobody may be able to write to what is published: handles are freed first. */
    tenure_map_release(map);
    tenure_tensor_free(picture);
    meta.blob = "from the example";
    meta.blob_bytes = strlen((const char *)meta.blob);
    check(tenure_slot_publish(slot, &meta, NULL), "publish");
    tenure_slot_free(slot);
}

static int produce(void) {
    tenure_publisher_options_t *options = NULL;
    tenure_publisher_t *publisher = NULL;
    tenure_spec_t *spec = NULL;
    size_t consumers = 0;
    check(tenure_spec_image(WIDTH, HEIGHT, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, 0, &spec), "spec");
    check(tenure_publisher_options_new("example/camera", &options), "options");
    check(tenure_publisher_options_set_spec(options, spec), "spec");
    check(tenure_publisher_open(options, &publisher), "open");
    for (int looked = 0; consumers == 0 && looked < 1000; looked++) {
        check(tenure_publisher_consumers(publisher, &consumers), "consumers");
        usleep(10 * 1000);
    }
    for (int number = 0; number < FRAMES; number++) {
        publish(publisher, number);
        usleep(33 * 1000);
    }
    tenure_publisher_free(publisher);
    tenure_publisher_options_free(options);
    tenure_spec_free(spec);
    return 0;
}

static int consume(void) {
    tenure_subscriber_options_t *options = NULL;
    tenure_subscriber_t *subscriber = NULL;
    tenure_status_t status;
    unsigned long got = 0, lost = 0, wrong = 0;
    check(tenure_subscriber_options_new("example/camera", &options), "options");
    check(tenure_subscriber_options_set_wait(options, 10000000000), "wait");
    check(tenure_subscriber_open(options, &subscriber), "open");
    tenure_subscriber_options_free(options);
    for (;;) {
        tenure_frame_t *frame = NULL;
        tenure_frame_info_t info;
        tenure_tensor_t *picture = NULL;
        tenure_read_t *read = NULL;
        const void *pixels = NULL;
        size_t bytes = 0;
        status = tenure_subscriber_next(subscriber, -1, &frame);
        if (status != TENURE_STATUS_OK) break;
        check(tenure_frame_info(frame, &info), "info");
        check(tenure_frame_tensor(frame, &picture), "tensor");
        check(tenure_map_read(picture, &read), "map");
        check(tenure_read_data(read, &pixels, &bytes), "data");
        wrong += bytes != WIDTH * HEIGHT * 3;
        wrong += ((const unsigned char *)pixels)[bytes - 1] != info.sequence;
        got++;
        lost += info.dropped;
        tenure_read_release(read);
        tenure_tensor_free(picture);
        tenure_frame_release(frame); /* Here the slot goes back to the producer. */
    }
    printf("%lu pictures of %dx%d came, %lu wrong, %lu lost\n", got, WIDTH, HEIGHT, wrong, lost);
    printf("then: %s\n", tenure_last_error());
    tenure_subscriber_free(subscriber);
    fflush(stdout);
    return status == TENURE_STATUS_CLOSED && wrong == 0 && got + lost == FRAMES ? 0 : 1;
}

int main(void) {
    int status = 1;
    /* A publisher has a thread of its own: processes part before. */
    const pid_t consumer = fork();
    if (consumer < 0) return 1;
    if (consumer == 0) _exit(consume());
    produce();
    waitpid(consumer, &status, 0);
    return status == 0 ? 0 : 1;
}
