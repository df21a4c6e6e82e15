// One tensor in two processes, in C++: the memory goes over a socket, its bytes are not copied, and
// the kernel sees to it that the other side only reads.
//
// Build and run, after `cargo xtask c-install PREFIX` and with PREFIX/lib/pkgconfig in
// PKG_CONFIG_PATH:
//
//   c++ -std=c++17 -Wall -Wextra two_processes.cpp $(pkg-config --cflags --libs tenure) -o two_processes
//   ./two_processes
#include <sys/socket.h>
#include <sys/wait.h>
#include <tenure.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

// Handles that free themselves, and statuses that are exceptions: all that C++ needs.
template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T *handle) const {
        Free(handle);
    }
};
using Tensor = std::unique_ptr<tenure_tensor_t, Deleter<tenure_tensor_free>>;
using Map = std::unique_ptr<tenure_map_t, Deleter<tenure_map_release>>;
using Read = std::unique_ptr<tenure_read_t, Deleter<tenure_read_release>>;

void check(tenure_status_t status) {
    if (status != TENURE_STATUS_OK) throw std::runtime_error(tenure_last_error());
}

Tensor shared(const std::vector<size_t> &shape, const char *name) {
    tenure_tensor_t *made = nullptr;
    check(tenure_tensor_new(shape.data(), shape.size(), TENURE_DTYPE_F32, TENURE_MEMORY_SHM, name,
                            &made));
    return Tensor(made);
}

Tensor receive(int socket) {
    tenure_tensor_t *made = nullptr;
    check(tenure_receive(socket, &made));
    return Tensor(made);
}

Map map(const Tensor &tensor) {
    tenure_map_t *made = nullptr;
    check(tenure_map(tensor.get(), &made));
    return Map(made);
}

// The other process.
int consume(int socket) {
    const Tensor tensor = receive(socket);
    const char *name = nullptr;
    check(tenure_tensor_name(tensor.get(), &name));
    tenure_read_t *made = nullptr;
    check(tenure_map_read(tensor.get(), &made));
    const Read read(made);
    const void *data = nullptr;
    size_t bytes = 0;
    check(tenure_read_data(read.get(), &data, &bytes));
    float sum = 0;
    for (size_t i = 0; i < bytes / sizeof(float); i++) sum += static_cast<const float *>(data)[i];
    std::printf("the other process reads %s: the sum is %.0f\n", name, sum);
    try {
        map(tensor);
        return 1;
    } catch (const std::runtime_error &refused) {
        std::printf("and cannot write: %s\n", refused.what());
        return 0;
    }
}

int produce() {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) throw std::runtime_error("socketpair");
    const pid_t other = fork();
    if (other < 0) throw std::runtime_error("fork");
    if (other == 0) {
        close(sockets[0]);
        const int code = consume(sockets[1]);
        std::fflush(stdout);
        _exit(code);
    }
    close(sockets[1]);
    const Tensor tensor = shared({4, 25}, "numbers");
    {
        const Map writing = map(tensor);
        void *data = nullptr;
        size_t bytes = 0;
        check(tenure_map_data(writing.get(), &data, &bytes));
        for (size_t i = 0; i < bytes / sizeof(float); i++) static_cast<float *>(data)[i] = float(i);
    }
    check(tenure_send(sockets[0], tensor.get(), true));
    int status = 1;
    waitpid(other, &status, 0);
    close(sockets[0]);
    return status == 0 ? 0 : 1;
}

}  // namespace

int main() {
    try {
        return produce();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
