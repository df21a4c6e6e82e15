/* What has threads of its own, in a process that was forked off: it works and goes, without them. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static tenure_tensor_t *picture(size_t side) {
    tenure_tensor_t *image = NULL;
    OK(tenure_image_new(side, side, TENURE_FORMAT_RGB, TENURE_DTYPE_U8, 0, TENURE_MEMORY_MEM, NULL,
                        &image));
    return image;
}

/* Large enough for several threads. */
static void convert(tenure_processor_t *processor) {
    tenure_tensor_t *from = picture(640), *to = picture(320);
    OK(tenure_processor_convert(processor, from, to, NULL, NULL));
    tenure_tensor_free(from);
    tenure_tensor_free(to);
}

int main(void) {
    /* Threads of its own, and those that all processors share. */
    const size_t threads[] = {3, 0};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        tenure_processor_t *processor = NULL, *other = NULL;
        int status = 0;
        pid_t child;
        OK(tenure_processor_new("cpu", threads[i], &processor));
        convert(processor);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            /* One that hangs is ended. */
            alarm(60);
            convert(processor);
            tenure_processor_free(processor);
            OK(tenure_processor_new("cpu", threads[i], &other));
            convert(other);
            tenure_processor_free(other);
            _exit(7);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        convert(processor);
        tenure_processor_free(processor);
    }
    return 0;
}
