/* Who may subscribe to a stream, and a publisher without a thread that lets them in. */
#include "check.h"
#include <dirent.h>
#include <grp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;
enum { NOBODY = 65534 };

/* What a policy is told, and what it says. */
typedef struct {
    uint32_t user;
    int asked, freed;
    tenure_peer_t last;
} policy_t;

static bool allow(void *context, const tenure_peer_t *peer) {
    policy_t *policy = (policy_t *)context;
    policy->asked++;
    policy->last = *peer;
    return peer->uid == policy->user;
}

static void free_policy(void *context) {
    ((policy_t *)context)->freed++;
}

static tenure_publisher_options_t *options_for(const char *directory, const char *name) {
    const size_t shape[] = {4};
    tenure_publisher_options_t *options = NULL;
    tenure_spec_t *spec = NULL;
    OK(tenure_spec_tensor(shape, 1, TENURE_DTYPE_F32, &spec));
    OK(tenure_publisher_options_new(name, &options));
    OK(tenure_publisher_options_set_directory(options, directory));
    OK(tenure_publisher_options_set_spec(options, spec));
    tenure_spec_free(spec);
    return options;
}

static void become_nobody(void) {
    CHECK(setgroups(0, NULL) == 0);
    CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

/* A process that waits for the stream and reads one frame of it, which is 7; or is refused, with
 * these words. Started before this process has a thread of the library's. */
static pid_t consumer(const char *directory, const char *name, bool nobody, const char *refused) {
    const pid_t pid = fork();
    tenure_subscriber_options_t *options = NULL;
    tenure_subscriber_t *subscriber = NULL;
    tenure_frame_t *frame = NULL;
    tenure_tensor_t *tensor = NULL;
    CHECK(pid >= 0);
    if (pid > 0) return pid;
    if (nobody) become_nobody();
    OK(tenure_subscriber_options_new(name, &options));
    OK(tenure_subscriber_options_set_directory(options, directory));
    OK(tenure_subscriber_options_set_wait(options, 60 * SECOND));
    if (refused != NULL) {
        FAILS(TENURE_STATUS_REFUSED, refused, tenure_subscriber_open(options, &subscriber));
        _exit(0);
    }
    OK(tenure_subscriber_open(options, &subscriber));
    OK(tenure_subscriber_next(subscriber, 60 * SECOND, &frame));
    OK(tenure_frame_tensor(frame, &tensor));
    CHECK(first(tensor) == 7.0f);
    _exit(0);
}

static void ends_well(pid_t pid) {
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void publish_seven(tenure_publisher_t *publisher) {
    tenure_slot_t *slot = NULL;
    tenure_tensor_t *tensor = NULL;
    tenure_map_t *map = NULL;
    tenure_receipt_t receipt;
    void *data = NULL;
    OK(tenure_publisher_claim(publisher, NULL, &slot));
    OK(tenure_slot_tensor(slot, &tensor));
    OK(tenure_map(tensor, &map));
    OK(tenure_map_data(map, &data, NULL));
    *(float *)data = 7.0f;
    tenure_map_release(map);
    tenure_tensor_free(tensor);
    OK(tenure_slot_publish(slot, NULL, &receipt));
    CHECK(receipt.consumers == 1);
    tenure_slot_free(slot);
}

/* Waits until there are so many consumers. A publisher without a thread is served when its
 * descriptor says so, and only then. */
static void wait_for(tenure_publisher_t *publisher, size_t wanted, bool served) {
    struct pollfd ready;
    size_t consumers = 0;
    OK(tenure_publisher_fd(publisher, &ready.fd));
    ready.events = POLLIN;
    for (;;) {
        OK(tenure_publisher_consumers(publisher, &consumers));
        if (consumers == wanted) return;
        if (served) {
            CHECK(poll(&ready, 1, 60000) == 1);
            OK(tenure_publisher_serve(publisher));
        } else {
            usleep(1000);
        }
    }
}

static int threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    int count = 0;
    CHECK(tasks != NULL);
    while ((entry = readdir(tasks)) != NULL) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* Nothing happens but in tenure_publisher_serve. */
static void without_thread(const char *directory) {
    const pid_t child = consumer(directory, "served", false, NULL);
    const int before = threads();
    tenure_publisher_options_t *options = options_for(directory, "served");
    tenure_publisher_t *publisher = NULL;
    struct pollfd ready;
    size_t consumers = 77;
    OK(tenure_publisher_options_set_thread(options, false));
    OK(tenure_publisher_open(options, &publisher));
    CHECK(threads() == before);
    OK(tenure_publisher_fd(publisher, &ready.fd));
    ready.events = POLLIN;
    CHECK(poll(&ready, 1, 60000) == 1 && (ready.revents & POLLIN));
    OK(tenure_publisher_consumers(publisher, &consumers));
    CHECK(consumers == 0);
    wait_for(publisher, 1, true);
    publish_seven(publisher);
    ends_well(child);
    wait_for(publisher, 0, true);
    CHECK(poll(&ready, 1, 0) == 0);
    tenure_publisher_free(publisher);

    /* The same options, now with a thread. */
    OK(tenure_publisher_options_set_thread(options, true));
    OK(tenure_publisher_open(options, &publisher));
    CHECK(threads() == before + 1);
    OK(tenure_publisher_serve(publisher));
    tenure_publisher_free(publisher);
    tenure_publisher_options_free(options);
}

/* A policy lets one user in and keeps another one out. */
static void policies(const char *directory, bool thread) {
    policy_t open = {NOBODY, 0, 0, {0, 0, 0}}, closed = {NOBODY - 1, 0, 0, {0, 0, 0}};
    const pid_t own = consumer(directory, "closed", false, NULL);
    const pid_t welcome = consumer(directory, "open", true, NULL);
    const pid_t refused = consumer(directory, "closed", true, "user 65534");
    tenure_publisher_options_t *options = options_for(directory, "open");
    tenure_publisher_t *publisher = NULL;
    OK(tenure_publisher_options_set_thread(options, thread));
    OK(tenure_publisher_options_set_allow(options, allow, &open, free_policy));
    OK(tenure_publisher_open(options, &publisher));
    tenure_publisher_options_free(options);
    wait_for(publisher, 1, !thread);
    publish_seven(publisher);
    ends_well(welcome);
    wait_for(publisher, 0, !thread);
    CHECK(open.freed == 0);
    tenure_publisher_free(publisher);
    CHECK(open.asked == 1 && open.freed == 1);
    CHECK(open.last.uid == NOBODY && open.last.gid == NOBODY);
    CHECK(open.last.pid == (uint32_t)welcome);

    options = options_for(directory, "closed");
    OK(tenure_publisher_options_set_thread(options, thread));
    OK(tenure_publisher_options_set_allow(options, allow, &closed, free_policy));
    OK(tenure_publisher_open(options, &publisher));
    /* Whoever is of the same user is let in, and nobody is asked. */
    wait_for(publisher, 1, !thread);
    publish_seven(publisher);
    ends_well(own);
    wait_for(publisher, 0, !thread);
    for (;;) {
        int status = 0;
        const pid_t ended = waitpid(refused, &status, WNOHANG);
        OK(tenure_publisher_serve(publisher));
        if (ended == refused) {
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            break;
        }
        usleep(1000);
    }
    tenure_publisher_free(publisher);
    CHECK(closed.asked == 1 && closed.freed == 0);
    tenure_publisher_options_free(options);
    CHECK(closed.freed == 1);
}

/* A context is freed once, whatever becomes of it. */
static void contexts(const char *directory) {
    policy_t first = {0, 0, 0, {0, 0, 0}}, second = first, third = first, fourth = first;
    tenure_publisher_options_t *options = options_for(directory, "contexts");
    OK(tenure_publisher_options_set_allow(options, allow, &first, free_policy));
    CHECK(first.freed == 0);
    OK(tenure_publisher_options_set_allow(options, allow, &second, free_policy));
    CHECK(first.freed == 1 && second.freed == 0);
    OK(tenure_publisher_options_set_allow(options, NULL, &third, free_policy));
    CHECK(second.freed == 1 && third.freed == 1);
    FAILS(TENURE_STATUS_NULL, "options",
          tenure_publisher_options_set_allow(NULL, allow, &fourth, free_policy));
    CHECK(fourth.freed == 1);
    OK(tenure_publisher_options_set_allow(options, allow, NULL, NULL));
    tenure_publisher_options_free(options);
    CHECK(first.freed == 1 && second.freed == 1);
}

static void refused(const char *directory) {
    tenure_publisher_options_t *options = options_for(directory, "refused");
    tenure_publisher_t *publisher = NULL;
    int fd = -1;
    OK(tenure_publisher_options_set_thread(options, false));
    OK(tenure_publisher_open(options, &publisher));
    FAILS(TENURE_STATUS_NULL, "options", tenure_publisher_options_set_thread(NULL, true));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_fd(NULL, &fd));
    FAILS(TENURE_STATUS_NULL, "fd", tenure_publisher_fd(publisher, NULL));
    FAILS(TENURE_STATUS_NULL, "publisher", tenure_publisher_serve(NULL));
    CHECK(fd == -1);
    tenure_publisher_free(publisher);
    tenure_publisher_options_free(options);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    without_thread(arguments[1]);
    contexts(arguments[1]);
    refused(arguments[1]);
    /* Only root can become somebody else to try; CI is. */
    if (geteuid() == 0) {
        CHECK(chmod(arguments[1], 0755) == 0);
        policies(arguments[1], false);
        policies(arguments[1], true);
    }
    return 0;
}
