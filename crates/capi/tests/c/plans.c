/* Which buffers share memory, and the memory. */
#include "check.h"

static const char *JSON =
    "{\"buffers\":[{\"name\":\"x\",\"bytes\":64,\"input\":true},{\"name\":\"y\",\"bytes\":64,"
    "\"output\":true}],\"steps\":[{\"name\":\"s\",\"reads\":[0],\"writes\":[1]}]}";

static void a_chain(void) {
    const char *names[] = {"x", "a", "b", "c", "y"};
    const uint64_t bytes[] = {1024, 4096, 2048, 4096, 1024};
    const uint32_t flags[] = {TENURE_BUFFER_INPUT, 0, 0, 0, TENURE_BUFFER_OUTPUT};
    tenure_schedule_t *schedule = NULL;
    tenure_plan_t *plan = NULL;
    tenure_tensor_t *tensors[5];
    uint64_t total = 0, bound = 0, offset = 0, align = 0, c_offset = 0;
    size_t index = 0, arena = 0, count = 0;
    uint32_t device = 7;
    const char *json = NULL;
    bool optimal = false, share = false;

    OK(tenure_schedule_new(&schedule));
    for (size_t i = 0; i < 5; i++) {
        OK(tenure_schedule_add_buffer(schedule, names[i], bytes[i], 0, TENURE_DTYPE_U8, flags[i],
                                      &index));
        CHECK(index == i);
    }
    for (size_t i = 0; i < 4; i++) {
        const size_t reads[] = {i}, writes[] = {i + 1};
        OK(tenure_schedule_add_step(schedule, "step", reads, 1, writes, 1));
    }
    OK(tenure_plan_new(schedule, TENURE_MODE_ARENA, TENURE_PACKER_BEST, &plan));
    OK(tenure_plan_bytes(plan, &total, &bound, &optimal));
    CHECK(total == 6144 && bound == 6144 && optimal);
    OK(tenure_plan_arena_count(plan, &count));
    OK(tenure_plan_arena(plan, 0, &total, &align, &device));
    CHECK(count == 1 && total == 6144 && align == 256 && device == 0);
    OK(tenure_plan_place(plan, 1, &arena, &offset));
    OK(tenure_plan_place(plan, 3, &arena, &c_offset));
    CHECK(arena == 0 && offset == c_offset);
    FAILS(TENURE_STATUS_NOT_FOUND, "Input", tenure_plan_place(plan, 0, &arena, &offset));
    FAILS(TENURE_STATUS_NOT_FOUND, "there are 5", tenure_plan_place(plan, 5, &arena, &offset));
    FAILS(TENURE_STATUS_NOT_FOUND, "", tenure_plan_arena(plan, 1, &total, &align, &device));
    OK(tenure_plan_json(plan, &json));
    CHECK(strstr(json, "6144") != NULL);

    for (size_t i = 0; i < 5; i++) {
        const size_t shape[] = {(size_t)bytes[i]};
        OK(tenure_tensor_lazy(shape, 1, TENURE_DTYPE_U8, TENURE_MEMORY_MEM, names[i],
                              &tensors[i]));
    }
    FAILS(TENURE_STATUS_INVALID, "has 4 buffers",
          tenure_plan_realize(schedule, plan, tensors, 4, TENURE_MEMORY_MEM));
    OK(tenure_plan_realize(schedule, plan, tensors, 5, TENURE_MEMORY_MEM));
    OK(tenure_tensor_aliases(tensors[1], tensors[3], &share));
    CHECK(share);
    OK(tenure_tensor_aliases(tensors[1], tensors[2], &share));
    CHECK(!share);
    CHECK(tenure_plan_realize(schedule, plan, tensors, 5, TENURE_MEMORY_MEM) ==
          TENURE_STATUS_INVALID);
    for (size_t i = 0; i < 5; i++) tenure_tensor_free(tensors[i]);
    tenure_plan_free(plan);
    /* Disabled places nothing, and tells what the buffers take on their own. */
    OK(tenure_plan_new(schedule, TENURE_MODE_DISABLED, TENURE_PACKER_BEST, &plan));
    OK(tenure_plan_bytes(plan, &total, &bound, &optimal));
    OK(tenure_plan_arena_count(plan, &count));
    CHECK(total == 4096 + 2048 + 4096 && bound == 6144 && !optimal && count == 0);
    FAILS(TENURE_STATUS_NOT_FOUND, "Disabled", tenure_plan_place(plan, 1, &arena, &offset));
    tenure_plan_free(plan);
    tenure_schedule_free(schedule);
}

static void wrong(void) {
    tenure_schedule_t *schedule = NULL;
    tenure_plan_t *plan = NULL;
    const size_t none[] = {17};
    size_t index = 99;
    FAILS(TENURE_STATUS_INVALID, "", tenure_schedule_from_json("{\"buffers\": 3}", &schedule));
    OK(tenure_schedule_from_json(JSON, &schedule));
    FAILS(TENURE_STATUS_INVALID, "arena", tenure_plan_new(schedule, 3, 0, &plan));
    FAILS(TENURE_STATUS_INVALID, "greedy-size", tenure_plan_new(schedule, 2, 4, &plan));
    FAILS(TENURE_STATUS_INVALID, "0xf",
          tenure_schedule_add_buffer(schedule, "z", 1, 0, 0, 1u << 20, &index));
    CHECK(tenure_schedule_add_buffer(schedule, "z", 1, 0, 99, 0, &index) == TENURE_STATUS_INVALID);
    CHECK(index == 99);
    OK(tenure_schedule_add_step(schedule, "beyond", none, 1, NULL, 0));
    FAILS(TENURE_STATUS_INVALID, "17", tenure_plan_new(schedule, 2, 0, &plan));
    tenure_schedule_free(schedule);
}

int main(void) {
    a_chain();
    wrong();
    return 0;
}
