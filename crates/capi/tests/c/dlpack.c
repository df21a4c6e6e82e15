/* DLPack, with the structures as its header has them. */
#include "check.h"

typedef struct {
    uint32_t major, minor;
} DLPackVersion;
typedef struct {
    int32_t device_type, device_id;
} DLDevice;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
};

static void lent(void) {
    const size_t shape[] = {2, 3};
    tenure_tensor_t *tensor = counting(shape, 2), *back = NULL;
    tenure_map_t *map = NULL;
    tenure_read_t *read = NULL;
    DLManagedTensorVersioned *managed = NULL, *second = NULL;
    DLManagedTensor *legacy = NULL;
    bool same = false;

    OK(tenure_tensor_to_dlpack(tensor, false, &managed));
    CHECK(managed->version.major == 1 && managed->flags == 0);
    CHECK(managed->dl_tensor.ndim == 2 && managed->dl_tensor.shape[1] == 3);
    CHECK(managed->dl_tensor.strides[0] == 3 && managed->dl_tensor.device.device_type == 1);
    CHECK(managed->dl_tensor.dtype.code == 2 && managed->dl_tensor.dtype.bits == 32);
    FAILS(TENURE_STATUS_BUSY, "", tenure_map(tensor, &map));
    FAILS(TENURE_STATUS_BUSY, "", tenure_map_read(tensor, &read));
    OK(tenure_tensor_to_dlpack(tensor, true, &second));
    CHECK(second->flags & 1);
    managed->deleter(managed);
    OK(tenure_map_read(tensor, &read));
    tenure_read_release(read);
    second->deleter(second);
    OK(tenure_map(tensor, &map));
    tenure_map_release(map);

    /* Our own comes back as another handle. */
    OK(tenure_tensor_to_dlpack(tensor, false, &managed));
    OK(tenure_tensor_from_dlpack(managed, &back));
    OK(tenure_tensor_aliases(tensor, back, &same));
    CHECK(same);
    tenure_tensor_free(back);

    /* What is lent stays when the tensor is freed. */
    OK(tenure_tensor_to_dlpack_legacy(tensor, &legacy));
    tenure_tensor_free(tensor);
    CHECK(((float *)legacy->dl_tensor.data)[5] == 5.0f);
    legacy->deleter(legacy);
}

static int deleted = 0;
static float numbers[] = {1, 2, 3, 4, 5, 6};
static int64_t foreign_shape[] = {3, 2};

static void delete_versioned(struct DLManagedTensorVersioned *self) {
    deleted++;
    free(self);
}

static void delete_legacy(struct DLManagedTensor *self) {
    deleted++;
    free(self);
}

static DLTensor foreign(void) {
    DLTensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.data = numbers;
    tensor.device.device_type = 1;
    tensor.ndim = 2;
    tensor.dtype.code = 2;
    tensor.dtype.bits = 32;
    tensor.dtype.lanes = 1;
    tensor.shape = foreign_shape;
    return tensor;
}

static DLManagedTensorVersioned *versioned(uint64_t flags) {
    DLManagedTensorVersioned *managed =
        (DLManagedTensorVersioned *)calloc(1, sizeof(DLManagedTensorVersioned));
    managed->version.major = 1;
    managed->deleter = delete_versioned;
    managed->flags = flags;
    managed->dl_tensor = foreign();
    return managed;
}

static void borrowed(void) {
    tenure_tensor_t *tensor = NULL, *view = NULL;
    tenure_map_t *map = NULL;
    DLManagedTensorVersioned *managed = NULL;
    DLManagedTensor *legacy = NULL;
    void *data = NULL;

    OK(tenure_tensor_from_dlpack(versioned(0), &tensor));
    OK(tenure_map(tensor, &map));
    OK(tenure_map_data(map, &data, NULL));
    CHECK(data == numbers);
    tenure_map_release(map);
    OK(tenure_tensor_slice(tensor, 0, 1, 3, 1, &view));
    tenure_tensor_free(tensor);
    CHECK(deleted == 0 && first(view) == 3.0f);
    tenure_tensor_free(view);
    CHECK(deleted == 1);

    OK(tenure_tensor_from_dlpack(versioned(1), &tensor));
    FAILS(TENURE_STATUS_READ_ONLY, "read-only", tenure_map(tensor, &map));
    FAILS(TENURE_STATUS_UNSUPPORTED, "", tenure_tensor_to_dlpack_legacy(tensor, &legacy));
    tenure_tensor_free(tensor);
    CHECK(deleted == 2);

    legacy = (DLManagedTensor *)calloc(1, sizeof(DLManagedTensor));
    legacy->deleter = delete_legacy;
    legacy->dl_tensor = foreign();
    OK(tenure_tensor_from_dlpack_legacy(legacy, &tensor));
    CHECK(first(tensor) == 1.0f);
    tenure_tensor_free(tensor);
    CHECK(deleted == 3);

    /* What is refused is given back at once. */
    managed = versioned(0);
    managed->version.major = 9;
    FAILS(TENURE_STATUS_UNSUPPORTED, "9", tenure_tensor_from_dlpack(managed, &tensor));
    managed = versioned(0);
    managed->dl_tensor.ndim = -1;
    FAILS(TENURE_STATUS_UNSUPPORTED, "-1", tenure_tensor_from_dlpack(managed, &tensor));
    managed = versioned(0);
    managed->dl_tensor.data = NULL;
    FAILS(TENURE_STATUS_UNSUPPORTED, "", tenure_tensor_from_dlpack(managed, &tensor));
    FAILS(TENURE_STATUS_NULL, "tensor", tenure_tensor_from_dlpack(versioned(0), NULL));
    CHECK(deleted == 7);
}

int main(void) {
    lent();
    borrowed();
    return 0;
}
