/*
 * The queue of one slot (queue/slot.h, push.c, pop.c): slots validate themselves, and poppers post
 * turns.
 */

#include "model.h"

/* A slot is a check, a ticket and an item, written and read in this order; the check is
 * their sum, which no mix of two slots here has. */
struct slots {
    word tail, head, room, slot[3], turn[2];
    plain made[2]; /* by the pusher of each ticket, before it pushes */

    void start() {
        STORE(tail, 0, relaxed);
        STORE(head, 0, relaxed);
        STORE(room, 1, relaxed); /* the capacity */
        for (int i = 0; i < 3; i++)
            STORE(slot[i], 0, relaxed);
        STORE(turn[0], 0, relaxed);
        STORE(turn[1], ~0, relaxed);
        WRITE(made[0], 0);
        WRITE(made[1], 0);
    }

    /* push_see_turns. In the mutant the head, which a popper has moved before it reads the slot. */
    bool has_room(int ticket) {
        if (is("turn"))
            return LOAD(head, seq_cst) >= ticket;
        int generation = LOAD(turn[0], acquire), inverse = LOAD(turn[1], acquire);
        return generation == ~inverse && generation >= ticket;
    }

    void put(int ticket, int item) {
        const rl::memory_order order = but("put's release", release); /* tern_slot_put */
        STORE(slot[0], 100 * item + ticket + 7, order);
        STORE(slot[1], ticket, order);
        STORE(slot[2], item, order);
    }

    /* tern_slot_get and slot_judge. */
    bool get(int ticket, int *item) {
        const rl::memory_order order = but("get's acquire", acquire); /* tern_slot_get */
        int check = LOAD(slot[0], order), number = LOAD(slot[1], order);
        *item = LOAD(slot[2], order);
        RL_ASSERT(number <= ticket || check != 100 * *item + number + 7); /* nothing is lost */
        return number == ticket && check == 100 * *item + number + 7;
    }

    /* An op that draws before it looks, in push.c. */
    void push(int item) {
        int known = LOAD(room, acquire);
        WRITE(made[item - 1], item);
        int ticket = ADD(tail, 1, seq_cst);
        for (int looks = 0; ticket >= known && !has_room(ticket); looks++) {
            if (looks == 1)
                return; /* waits on */
            rl::yield(1, $);
        }
        put(ticket, item);
    }

    /* The same in pop.c. */
    void pop() {
        int item, ticket = ADD(head, 1, seq_cst);
        for (int looks = 0; !get(ticket, &item); looks++) {
            if (looks == 1)
                return;
            rl::yield(1, $);
        }
        RL_ASSERT(READ(made[item - 1]) == item);
        STORE(turn[0], ticket + 1, release); /* pop_free */
        STORE(turn[1], ~(ticket + 1), release);
    }
};

/* One pusher, which uses the slot twice, and one popper. */
struct turns : rl::test_suite<turns, 2>, slots {
    void before() { start(); }

    void thread(unsigned index) {
        for (int i = 0; i < 2; i++)
            if (index == 0)
                push(i + 1);
            else
                pop();
    }
};

/* Ops that look before they draw: two pushers and a popper, which lose to each other and look
 * again. What each has seen is old when it draws. */
struct asked : rl::test_suite<asked, 3>, slots {
    void before() { start(); }

    void push_asked(int item) {
        WRITE(made[item - 1], item);
        for (int looks = 0, ticket = 0; looks < 3; looks++) {
            const bool free = ticket == 0 || has_room(ticket) || is("draw without a look");
            if (free && cas(tail, ticket, ticket + 1, seq_cst) == ticket) {
                put(ticket, item);
                return;
            }
            ticket = LOAD(tail, seq_cst);
            rl::yield(1, $);
        }
    }

    void pop_asked() {
        for (int looks = 0, item; looks < 3; looks++) {
            const int ticket = LOAD(head, seq_cst);
            if (get(ticket, &item) && cas(head, ticket, ticket + 1, seq_cst) == ticket) {
                if (!is("late read"))
                    RL_ASSERT(READ(made[item - 1]) == item);
                STORE(turn[0], ticket + 1, release);
                STORE(turn[1], ~(ticket + 1), release);
                if (is("late read"))
                    RL_ASSERT(get(ticket, &item));
                return;
            }
            rl::yield(1, $);
        }
    }

    void thread(unsigned index) {
        if (index < 2)
            push_asked((int)index + 1);
        else
            pop_asked();
    }
};

/* Two workers of a process: one learns that there is room again, or that an item is there, and the
 * other one uses what it has learned (tern_queue_learn and tern_queue_known). */
struct learned : rl::test_suite<learned, 3> {
    word popped, room;
    plain item;

    void before() {
        STORE(popped, 0, relaxed);
        STORE(room, 1, relaxed);
        WRITE(item, 1);
    }

    void thread(unsigned index) {
        if (index == 0) { /* pops */
            RL_ASSERT(READ(item) == 1);
            cas(popped, 0, 1, seq_cst);
        } else if (index == 1) { /* learns */
            int now = LOAD(popped, seq_cst);
            if (LOAD(room, relaxed) < now + 1)
                STORE(room, now + 1, but("learner's release", release));
        } else if (LOAD(room, but("user's acquire", acquire)) > 1) { /* pushes */
            WRITE(item, 2);
        }
    }
};

int main(int argc, char **argv) {
    read_options(argc, argv);
    bool good = check<turns>({"turns", FEW_SWITCHES, {"turn", "put's release", "get's acquire"}});
    good &= check<asked>({"asked", FEW_SWITCHES, {"draw without a look", "late read"}});
    good &= check<learned>({"learned", EVERY, {"learner's release", "user's acquire"}});
    return !good;
}
