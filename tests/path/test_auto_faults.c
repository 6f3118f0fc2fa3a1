// tern-test: ranks survivors least=2

/* Operations by TERN_AUTO that fail because of a death keep their detail, though they have
 * lasted long, after which costs are measured again. */

#include "survivors.h"

#include "path/selector.h"
#include "queue/queue.h"
#include "base/process.h"

static void a_late_failure_keeps_its_detail(void) {
    fixture f;
    tern_queue *queue = NULL;
    if (!survivors_open(&f, (uint32_t)tern_test_size() - 1))
        return;
    const tern_queue_options options = {.host = play.victim, .item_bytes = 8, .capacity = 4};
    EXPECT_OK(tern_queue_create(f.worker, &options, &queue));
    const tern_pick late = {
        .flag = TERN_BY_CALL,
        .class = tern_path_class_of(f.context, play.victim),
        .expected = 1,
        .began = tern_now() - 1000000000,
        .target = tern_queue_question(f.worker, queue, TERN_PATH_POP, 0, "pop").target};
    lose_later(&f);
    while (!tern_test_dead((int)play.victim))
        sched_yield();
    for (int i = 0; i < 20; i++) {
        const tern_status status = tern_barrier(f.worker);
        TOLD(play.victim, status);
        tern_pick_done(f.worker, &late, status);
        EXPECT_DETAIL("has died");
    }
    meet_survivors(&f);
    EXPECT(TERN_ERR_PEER, tern_queue_destroy(f.worker, queue));
    survivors_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_late_failure_keeps_its_detail", a_late_failure_keeps_its_detail}};
    return tern_test_main(argc, argv, "auto_faults", tests, 1);
}
