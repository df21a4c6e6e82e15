/* Descriptors, planes, and tensors to another process. */
#include "check.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void by_descriptor(void) {
    const size_t shape[] = {8}, longer[] = {1 << 20};
    tenure_tensor_t *tensor = NULL, *same = NULL, *part = NULL, *heap = counting(shape, 1);
    int fd = -1;
    size_t start = 77;
    bool yes = false;
    OK(tenure_tensor_new(shape, 1, TENURE_DTYPE_F32, TENURE_MEMORY_SHM, "shared", &tensor));
    OK(tenure_tensor_copy_from(tensor, heap));
    OK(tenure_tensor_clone_fd(tensor, &fd, &start));
    CHECK(fd >= 0 && start == 0);
    OK(tenure_tensor_from_fd(fd, shape, 1, TENURE_DTYPE_F32, NULL, &same));
    FAILS(TENURE_STATUS_INVALID, "are needed",
          tenure_tensor_from_fd(fd, longer, 1, TENURE_DTYPE_F32, NULL, &part));
    close(fd);
    OK(tenure_tensor_aliases(tensor, same, &yes));
    CHECK(yes && first(same) == 0.0f);
    OK(tenure_tensor_slice(tensor, 0, 3, 8, 1, &part));
    OK(tenure_tensor_clone_fd(part, &fd, &start));
    CHECK(start == 3 * sizeof(float));
    close(fd);

    FAILS(TENURE_STATUS_UNSUPPORTED, "no file descriptor", tenure_tensor_clone_fd(heap, &fd, NULL));
    FAILS(TENURE_STATUS_UNSUPPORTED, "not a DMA-BUF", tenure_tensor_clone_dmabuf(tensor, &fd));
    tenure_tensor_free(tensor);
    tenure_tensor_free(same);
    tenure_tensor_free(part);
    tenure_tensor_free(heap);
}

static void by_planes(void) {
    const size_t shape[] = {64 * 24};
    tenure_tensor_t *memory = NULL, *frame = NULL, *chroma = NULL, *bad = NULL;
    tenure_plane_t planes[2];
    const size_t *dims = NULL;
    size_t rank = 0, count = 0, width = 0, height = 0, stride = 0;
    int fd = -1;
    OK(tenure_tensor_new(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_SHM, NULL, &memory));
    OK(tenure_tensor_clone_fd(memory, &fd, NULL));
    memset(planes, 0, sizeof planes);
    planes[0].fd = planes[1].fd = fd;
    planes[0].stride = planes[1].stride = 64;
    planes[1].offset = 64 * 16;
    OK(tenure_image_from_planes(planes, 2, 48, 16, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, &frame));
    OK(tenure_image_plane_count(frame, &count));
    OK(tenure_image_size(frame, &width, &height, &stride));
    CHECK(count == 2 && width == 48 && height == 16 && stride == 64);
    OK(tenure_tensor_plane(frame, 1, &chroma));
    OK(tenure_tensor_shape(chroma, &dims, &rank));
    CHECK(rank == 3 && dims[0] == 8 && dims[1] == 24 && dims[2] == 2);

    planes[1].offset = 64 * 20;
    CHECK(tenure_image_from_planes(planes, 2, 48, 16, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, &bad) ==
          TENURE_STATUS_INVALID);
    planes[1].modifier = 5;
    FAILS(TENURE_STATUS_UNSUPPORTED, "modifier",
          tenure_image_from_planes(planes, 2, 48, 16, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, &bad));
    FAILS(TENURE_STATUS_INVALID, "",
          tenure_image_from_planes(planes, 0, 48, 16, TENURE_FORMAT_NV12, TENURE_DTYPE_U8, &bad));
    close(fd);
    tenure_tensor_free(memory);
    tenure_tensor_free(frame);
    tenure_tensor_free(chroma);
}

/* The other process: reads what it is sent, cannot write it, and sends a tensor of its own. */
static int child(int socket) {
    const size_t shape[] = {3};
    tenure_tensor_t *tensor = NULL, *answer = NULL, *heap = counting(shape, 1);
    tenure_map_t *map = NULL;
    const char *name = NULL;
    OK(tenure_receive(socket, &tensor));
    OK(tenure_tensor_name(tensor, &name));
    CHECK(strcmp(name, "frame") == 0 && first(tensor) == 0.0f);
    FAILS(TENURE_STATUS_READ_ONLY, "read-only", tenure_map(tensor, &map));
    OK(tenure_tensor_to(heap, TENURE_MEMORY_SHM, &answer));
    OK(tenure_send(socket, answer, false));
    tenure_tensor_free(tensor);
    tenure_tensor_free(answer);
    tenure_tensor_free(heap);
    return 0;
}

static void to_another_process(void) {
    const size_t shape[] = {8};
    tenure_tensor_t *heap = counting(shape, 1), *tensor = NULL, *answer = NULL, *view = NULL;
    int sockets[2], status = -1;
    pid_t pid;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    OK(tenure_tensor_new(shape, 1, TENURE_DTYPE_F32, TENURE_MEMORY_SHM, "frame", &tensor));
    OK(tenure_tensor_copy_from(tensor, heap));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(sockets[0]);
        _exit(child(sockets[1]));
    }
    close(sockets[1]);
    FAILS(TENURE_STATUS_UNSUPPORTED, "no file descriptor", tenure_send(sockets[0], heap, false));
    OK(tenure_send(sockets[0], tensor, true));
    OK(tenure_receive(sockets[0], &answer));
    OK(tenure_tensor_slice(answer, 0, 2, 3, 1, &view));
    CHECK(first(view) == 2.0f);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    tenure_tensor_free(view);
    FAILS(TENURE_STATUS_CLOSED, "closed", tenure_receive(sockets[0], &view));
    close(sockets[0]);
    tenure_tensor_free(heap);
    tenure_tensor_free(tensor);
    tenure_tensor_free(answer);
}

int main(void) {
    by_descriptor();
    by_planes();
    to_another_process();
    return 0;
}
