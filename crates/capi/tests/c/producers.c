/* A stream between processes: a producer that is killed, what its consumer holds, and the next. */
#include "check.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WIDTH = 64, HEIGHT = 48 };
static const int64_t SECOND = 1000000000;

/* Publishes pictures of one value each, which is their number, until it is killed, or nobody is
 * there any more that could. */
static void produce(const char *directory, pid_t parent) {
    tenure_publisher_options_t *options = NULL;
    tenure_publisher_t *publisher = NULL;
    tenure_spec_t *spec = NULL;
    OK(tenure_spec_image(WIDTH, HEIGHT, TENURE_FORMAT_GREY, TENURE_DTYPE_U8, 0, &spec));
    OK(tenure_publisher_options_new("cam0", &options));
    OK(tenure_publisher_options_set_directory(options, directory));
    OK(tenure_publisher_options_set_spec(options, spec));
    OK(tenure_publisher_open(options, &publisher));
    for (unsigned number = 0; getppid() == parent; number++) {
        tenure_slot_t *slot = NULL;
        tenure_tensor_t *tensor = NULL;
        tenure_map_t *map = NULL;
        tenure_frame_meta_t meta;
        void *data = NULL;
        size_t bytes = 0;
        OK(tenure_publisher_claim(publisher, NULL, &slot));
        OK(tenure_slot_tensor(slot, &tensor));
        OK(tenure_map(tensor, &map));
        OK(tenure_map_data(map, &data, &bytes));
        CHECK(bytes == WIDTH * HEIGHT);
        memset(data, (int)(number & 0xff), bytes);
        tenure_map_release(map);
        tenure_tensor_free(tensor);
        memset(&meta, 0, sizeof meta);
        meta.blob = &number;
        meta.blob_bytes = sizeof number;
        OK(tenure_slot_publish(slot, &meta, NULL));
        tenure_slot_free(slot);
        usleep(2000);
    }
}

/* Before anything of the library has a thread in this process. */
static pid_t start(const char *directory) {
    const pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        produce(directory, parent);
        _exit(1);
    }
    return pid;
}

static void kill_and_wait(pid_t pid) {
    int status = 0;
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

/* All bytes of a frame are its number. */
static void whole(const tenure_frame_t *frame) {
    tenure_tensor_t *tensor = NULL;
    tenure_read_t *read = NULL;
    const void *data = NULL, *blob = NULL;
    size_t bytes = 0, length = 0;
    unsigned number = 0;
    OK(tenure_frame_blob(frame, &blob, &length));
    CHECK(length == sizeof number);
    memcpy(&number, blob, length);
    OK(tenure_frame_tensor(frame, &tensor));
    OK(tenure_map_read(tensor, &read));
    OK(tenure_read_data(read, &data, &bytes));
    CHECK(bytes == WIDTH * HEIGHT);
    for (size_t i = 0; i < bytes; i++)
        CHECK(((const unsigned char *)data)[i] == (unsigned char)number);
    tenure_read_release(read);
    tenure_tensor_free(tensor);
}

static tenure_subscriber_t *subscribe(const char *directory, bool follow) {
    tenure_subscriber_options_t *options = NULL;
    tenure_subscriber_t *subscriber = NULL;
    OK(tenure_subscriber_options_new("cam0", &options));
    OK(tenure_subscriber_options_set_directory(options, directory));
    OK(tenure_subscriber_options_set_wait(options, 60 * SECOND));
    OK(tenure_subscriber_options_set_follow(options, follow));
    OK(tenure_subscriber_open(options, &subscriber));
    tenure_subscriber_options_free(options);
    return subscriber;
}

int main(int count, char **arguments) {
    tenure_subscriber_t *subscriber = NULL, *follower = NULL;
    tenure_frame_t *frame = NULL, *held = NULL;
    tenure_frame_info_t info, later;
    uint64_t last = 0;
    pid_t producer;
    CHECK(count == 2);
    producer = start(arguments[1]);
    subscriber = subscribe(arguments[1], false);
    follower = subscribe(arguments[1], true);
    for (int i = 0; i < 20; i++) {
        OK(tenure_subscriber_next(subscriber, 60 * SECOND, &frame));
        CHECK(frame != NULL);
        OK(tenure_frame_info(frame, &info));
        CHECK(i == 0 || info.sequence == last + 1 + info.dropped);
        last = info.sequence;
        whole(frame);
        tenure_frame_release(frame);
    }
    OK(tenure_subscriber_next(follower, 60 * SECOND, &held));
    CHECK(held != NULL);
    OK(tenure_frame_info(held, &info));

    kill_and_wait(producer);
    for (;;) {
        tenure_status_t status = tenure_subscriber_next(subscriber, 60 * SECOND, &frame);
        if (status == TENURE_STATUS_CLOSED) break;
        CHECK(status == TENURE_STATUS_OK && frame != NULL);
        whole(frame);
        tenure_frame_release(frame);
    }
    CHECK(strstr(tenure_last_error(), "died") != NULL);
    tenure_subscriber_free(subscriber);
    whole(held);

    /* The next producer takes the name over, and one that follows goes on with it. */
    producer = start(arguments[1]);
    do {
        OK(tenure_subscriber_next(follower, 60 * SECOND, &frame));
        CHECK(frame != NULL);
        OK(tenure_frame_info(frame, &later));
        whole(frame);
        tenure_frame_release(frame);
    } while (later.incarnation == info.incarnation);
    whole(held);
    kill_and_wait(producer);
    tenure_subscriber_free(follower);
    whole(held);
    tenure_frame_release(held);
    return 0;
}
