// tern-test: transports

/* Map: one script of operations over every form that an operation has, blocking and started, in
 * batches and in buffers, by RMA and by call. The script is the same for all forms, and each answer
 * is compared with that of a model: the status of each key, every output, each byte of a value, and
 * that nothing is written beside it. Each rank has keys of its own, which lie everywhere. */

#include "map_tools.h"

typedef enum form { BLOCKING, STARTED, BATCHED, BUFFERED, FORMS } form;

static const char *const form_names[] = {"blocking", "started", "batched", "buffered"};

enum {
    KEYS = 42,
    NUMBERS = 14,   /* the first keys hold numbers, the others bytes */
    STEP_MOST = 40, /* operations that one step does at once */
    KEY_ROOM = 20000,
    MARGIN = 16,
    NEVER = 77 /* the value of an output that no call has written */
};

/* The value that a key should have. */
typedef struct entry {
    bool there;
    size_t bytes;
    unsigned char value[MAP_VALUE_ROOM];
} entry;

/* An operation of a step. */
typedef struct operation {
    entry *e;
    const unsigned char *key;
    size_t key_bytes;
    size_t bytes;         /* of the value that is inserted, or the room of a find */
    unsigned char *value; /* and the value, or the room */
} operation;

static struct {
    fixture f;
    tern_map *map;
    tern_map_buffer *buffer;
    form form;
    uint64_t script, paths; /* states of random numbers: the paths are no part of the script */
    entry entry[KEYS];
    unsigned char key[KEYS][KEY_ROOM], room[STEP_MOST][MAP_VALUE_ROOM + MARGIN];
    size_t key_bytes[KEYS];
    operation o[STEP_MOST];
    size_t count;
    uint64_t steps, wrong;
} s;

static bool right(bool is, const char *what, const operation *o, tern_status status) {
    if (!is && s.wrong++ == 0)
        fprintf(stderr, "map_model: step %llu, %s, %s, key of %zu bytes, %s of %zu: '%s' (%s)\n",
                (unsigned long long)s.steps, form_names[s.form], what, o->key_bytes,
                o->e->there ? "there" : "absent", o->e->bytes, tern_strerror(status),
                status == TERN_OK ? "" : tern_error_detail());
    return is;
}

static uint64_t draw(uint64_t limit) { return below(&s.script, limit); }
static tern_flags next_path(void) { return fixture_path(below(&s.paths, 3)); }

/* Sizes at every limit: nothing, a word, the inline sizes of the maps below, the room on a stack,
 * a message. The first byte is the rank's, the second the key's. */
static void make_keys(void) {
    static const size_t sizes[] = {0, 1, 2, 8, 20, 23, 24, 25, 103, 104, 105, 300, 3000, KEY_ROOM};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (size_t k = 0; k < KEYS; k++) {
        size_t bytes = sizes[k % SIZES];
        /* Of the shortest keys there is one. */
        if (bytes < 2 && (k >= SIZES || (bytes == 0 && s.f.rank > 0)))
            bytes = 5;
        fill_bytes(s.key[k], bytes, k);
        if (bytes > 0)
            s.key[k][0] = (unsigned char)s.f.rank;
        if (bytes > 1)
            s.key[k][1] = (unsigned char)k;
        s.key_bytes[k] = bytes;
    }
}

static size_t draw_size(size_t key_bytes) {
    static const size_t limits[] = {24, 104, 960}, small[] = {0, 1, 7, 8, 9, 16, 25, 200, 961},
                        large[] = {4000, 16000, 16500, 40000, MAP_VALUE_ROOM};
    const uint64_t which = draw(40);
    if (which < 12 && limits[which % 3] > key_bytes)
        return limits[which % 3] - key_bytes + 1 - which / 3 % 3;
    return which > 36 ? large[draw(sizeof large / sizeof large[0])]
                      : small[draw(sizeof small / sizeof small[0])];
}

/* Chooses the keys of a step, of which some may come twice. */
static void choose(uint64_t first, uint64_t keys) {
    s.count = draw(20) == 0 ? 1 + draw(STEP_MOST) : 1 + draw(5);
    for (size_t i = 0; i < s.count; i++) {
        const uint64_t k = first + draw(keys);
        s.o[i] = (operation){&s.entry[k], s.key[k], s.key_bytes[k], 0, s.room[i]};
    }
}

static void give_values(bool numbers) {
    for (operation *o = s.o; o < s.o + s.count; o++) {
        o->bytes = numbers ? 8 : draw_size(o->key_bytes);
        fill_bytes(o->value, o->bytes, draw(UINT64_MAX));
    }
}

static void store(entry *e, const void *value, size_t bytes) {
    e->there = true;
    e->bytes = bytes;
    memcpy(e->value, value, bytes);
}

static void fill_items(tern_map_item items[STEP_MOST]) {
    for (size_t i = 0; i < s.count; i++)
        items[i] = (tern_map_item){s.o[i].key, s.o[i].value, s.o[i].key_bytes, s.o[i].bytes};
}

static void flush(void) {
    uint64_t refused = NEVER;
    const tern_status status = tern_map_buffer_flush(s.f.worker, s.buffer, &refused);
    right(status == TERN_OK && refused == 0, "flush", s.o, status);
}

/* A start that fails has begun nothing, and its status is the outcome. */
static tern_status outcome(tern_status start, tern_request *request) {
    return start == TERN_OK ? tern_wait(s.f.worker, request) : start;
}

static void finish_inserts(bool only_new, size_t from, size_t to, const tern_status *start,
                           tern_request *request) {
    for (size_t i = from; i < to; i++) {
        operation *o = &s.o[i];
        const tern_status status = outcome(start[i], &request[i]);
        right(status == TERN_OK && tern_request_result(&request[i]) == o->e->there, "insert", o,
              status);
        if (!only_new || !o->e->there)
            store(o->e, o->value, o->bytes);
    }
}

/* Each value has been copied when its start returns. Inserts of one key by RMA are not under way
 * together: they would take effect in any order. */
static void start_inserts(bool only_new) {
    const tern_flags path = next_path();
    tern_request request[STEP_MOST] = {0};
    tern_status start[STEP_MOST];
    size_t first = 0;
    for (size_t i = 0; i < s.count; i++) {
        operation *o = &s.o[i];
        bool together = false;
        for (size_t j = first; j < i; j++)
            together = together || s.o[j].e == o->e;
        if (together && path == TERN_BY_RMA) {
            finish_inserts(only_new, first, i, start, request);
            first = i;
        }
        unsigned char *copy = malloc(o->bytes + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, o->value, o->bytes);
        start[i] = (only_new ? tern_map_insert_new_start : tern_map_insert_start)(
            s.f.worker, s.map, o->key, o->key_bytes, copy, o->bytes, path, &request[i]);
        memset(copy, 0xdd, o->bytes);
        free(copy);
    }
    finish_inserts(only_new, first, s.count, start, request);
}

static void insert_one(operation *o, bool only_new) {
    int existed = NEVER;
    const tern_status status = (only_new ? tern_map_insert_new : tern_map_insert)(
        s.f.worker, s.map, o->key, o->key_bytes, o->value, o->bytes, next_path(), &existed);
    right(status == TERN_OK && existed == (o->e->there ? 1 : 0), "insert", o, status);
    if (!only_new || !o->e->there)
        store(o->e, o->value, o->bytes);
}

/* Of a key that comes twice in a batch or a buffer the last value stays. */
static void insert_at_once(void) {
    tern_map_item items[STEP_MOST];
    size_t stored = NEVER;
    tern_status status = TERN_OK;
    fill_items(items);
    if (s.form == BATCHED) {
        status = tern_map_insert_many(s.f.worker, s.map, items, s.count, next_path(), &stored);
        right(status == TERN_OK && stored == s.count, "insert_many", s.o, status);
    }
    for (operation *o = s.o; o < s.o + s.count; o++) {
        if (s.form == BUFFERED)
            status = tern_map_buffer_insert(s.f.worker, s.buffer, o->key, o->key_bytes, o->value,
                                            o->bytes);
        right(status == TERN_OK, "buffer_insert", o, status);
        store(o->e, o->value, o->bytes);
        memset(o->value, 0xdd, o->bytes);
    }
    if (s.form == BUFFERED)
        flush();
}

static void insert(bool numbers, bool only_new) {
    choose(numbers ? 0 : NUMBERS, numbers ? NUMBERS : KEYS - NUMBERS);
    give_values(numbers);
    if (s.form == STARTED)
        start_inserts(only_new);
    else if (s.form != BLOCKING && !only_new)
        insert_at_once();
    else
        for (size_t i = 0; i < s.count; i++)
            insert_one(&s.o[i], only_new);
}

static void erase(void) {
    choose(0, KEYS);
    for (operation *o = s.o; o < s.o + s.count; o++) {
        const tern_status status =
            tern_map_erase(s.f.worker, s.map, o->key, o->key_bytes, next_path());
        right(status == (o->e->there ? TERN_OK : TERN_ERR_NOT_FOUND), "erase", o, status);
        o->e->there = false;
    }
}

static uint64_t number_of(const entry *e) {
    uint64_t number = 0;
    if (e->there)
        memcpy(&number, e->value, 8);
    return number;
}

static void add_to(entry *e, uint64_t delta) {
    const uint64_t number = number_of(e) + delta;
    store(e, &number, sizeof number);
}

static void add_one(operation *o, uint64_t delta) {
    uint64_t before = NEVER;
    tern_status status;
    if (s.form == STARTED) {
        tern_request request = {0};
        status = outcome(tern_map_add_start(s.f.worker, s.map, o->key, o->key_bytes, delta,
                                            next_path(), &request),
                         &request);
        before = status == TERN_OK ? tern_request_result(&request) : before;
    } else {
        status = tern_map_add(s.f.worker, s.map, o->key, o->key_bytes, delta, next_path(), &before);
    }
    if (o->e->there && o->e->bytes != 8) {
        right(status == TERN_ERR_RANGE && before == NEVER, "add to no number", o, status);
        return;
    }
    right(status == TERN_OK && before == number_of(o->e), "add", o, status);
    add_to(o->e, delta);
}

static void add(void) {
    const uint64_t delta = draw(3) == 0 ? UINT64_MAX - draw(5) : draw(1000);
    const bool odd = draw(6) == 0; /* also of what is no number */
    tern_map_item items[STEP_MOST];
    tern_status status = TERN_OK;
    choose(0, odd ? KEYS : NUMBERS);
    fill_items(items);
    if (odd || s.form == BLOCKING || s.form == STARTED) {
        for (size_t i = 0; i < s.count; i++)
            add_one(&s.o[i], delta);
        return;
    }
    if (s.form == BATCHED) {
        size_t added = NEVER;
        status = tern_map_add_many(s.f.worker, s.map, items, s.count, delta, next_path(), &added);
        right(status == TERN_OK && added == s.count, "add_many", s.o, status);
    }
    for (operation *o = s.o; o < s.o + s.count; o++) {
        if (s.form == BUFFERED)
            status = tern_map_buffer_add(s.f.worker, s.buffer, o->key, o->key_bytes, delta);
        right(status == TERN_OK, "buffer_add", o, status);
        add_to(o->e, delta);
    }
    if (s.form == BUFFERED)
        flush();
}

static void swap(void) {
    choose(0, draw(6) == 0 ? KEYS : NUMBERS);
    for (operation *o = s.o; o < s.o + s.count; o++) {
        const bool hits = draw(2);
        const uint64_t now = number_of(o->e), desired = draw(UINT64_MAX);
        uint64_t before = NEVER;
        const tern_status status =
            tern_map_compare_swap(s.f.worker, s.map, o->key, o->key_bytes, hits ? now : now + 1,
                                  desired, next_path(), &before);
        if (!o->e->there) {
            right(status == TERN_ERR_NOT_FOUND && before == NEVER, "swap", o, status);
        } else if (o->e->bytes != 8) {
            right(status == TERN_ERR_RANGE && before == NEVER, "swap", o, status);
        } else {
            right(status == TERN_OK && before == now, "swap", o, status);
            if (hits)
                store(o->e, &desired, sizeof desired);
        }
    }
}

/* Puts its argument in front of the value, and tells how large that was. */
static tern_status prepend(tern_map_modify_info *info) {
    const size_t before = info->value_bytes, more = info->argument_bytes;
    const tern_status status = tern_map_resize(info, before + more);
    if (status != TERN_OK)
        return status;
    memmove((unsigned char *)info->value + more, info->value, before);
    memcpy(info->value, info->argument, more);
    memcpy(info->result, &before, sizeof before);
    info->result_bytes = sizeof before;
    return TERN_OK;
}
TERN_MAP_MODIFIER(prepend)

/* Takes away all but the first half. */
static tern_status halve(tern_map_modify_info *info) {
    return tern_map_resize(info, info->value_bytes / 2);
}
TERN_MAP_MODIFIER_ANY_THREAD(halve)

/* Spoils the copy that it has been given, and gives up. */
static tern_status refuse(tern_map_modify_info *info) {
    memset(info->value, 0xee, info->value_bytes);
    memset(info->result, 0xee, 8);
    info->result_bytes = 8;
    return tern_map_resize(info, 5) == TERN_OK ? TERN_ERR_EXISTS : TERN_ERR_MEMORY;
}
TERN_MAP_MODIFIER(refuse)

static void modify_one(operation *o, const tern_map_modifier *modifier, tern_absent absent) {
    const size_t old = o->e->there ? o->e->bytes : 0;
    size_t before = NEVER, result = NEVER;
    int existed = NEVER;
    const tern_status status = tern_map_modify(s.f.worker, s.map, o->key, o->key_bytes, modifier,
                                               &(tern_modify_options){.argument = o->value,
                                                                      .argument_bytes = o->bytes,
                                                                      .absent = absent,
                                                                      .result = &before,
                                                                      .capacity = sizeof before,
                                                                      .result_bytes = &result},
                                               next_path(), &existed);
    if (!o->e->there && absent == TERN_ABSENT_FAIL) {
        right(status == TERN_ERR_NOT_FOUND && before == NEVER, "modify", o, status);
        return;
    }
    if (modifier == &refuse_modifier) {
        right(status == TERN_ERR_EXISTS, "modify that is refused", o, status);
        return;
    }
    right(status == TERN_OK && existed == (o->e->there ? 1 : 0), "modify", o, status);
    if (modifier == &halve_modifier) {
        right(before == NEVER && result == 0, "halve", o, status);
        o->e->bytes = old / 2;
    } else {
        right(before == old && result == 8, "prepend", o, status);
        memmove(o->e->value + o->bytes, o->e->value, old);
        memcpy(o->e->value, o->value, o->bytes);
        o->e->bytes = old + o->bytes;
    }
    o->e->there = true;
}

static void modify(void) {
    static const tern_map_modifier *const modifiers[] = {&halve_modifier, &refuse_modifier};
    choose(NUMBERS, KEYS - NUMBERS);
    give_values(false);
    for (operation *o = s.o; o < s.o + s.count; o++) {
        const uint64_t which = draw(6);
        const tern_absent absent = draw(2) ? TERN_ABSENT_INSERT : TERN_ABSENT_FAIL;
        if (o->bytes + (o->e->there ? o->e->bytes : 0) <= MAP_VALUE_ROOM)
            modify_one(o, which < 2 ? modifiers[which] : &prepend_modifier, absent);
    }
}

/* Rooms that are too small, fit, and are too large. */
static void give_rooms(void) {
    for (operation *o = s.o; o < s.o + s.count; o++) {
        const size_t bytes = o->e->there ? o->e->bytes : 9;
        const size_t rooms[] = {bytes, bytes + 5, bytes / 2, 0};
        o->bytes = rooms[draw(8) % 4];
        o->bytes = o->bytes < MAP_VALUE_ROOM ? o->bytes : MAP_VALUE_ROOM;
        memset(o->value, 0xee, o->bytes + MARGIN);
    }
}

/* Compares the answer of a find with the model. A find writes nothing behind its room, and nothing
 * at all if the key is absent. */
static void found(const operation *o, tern_status status, size_t bytes, const char *what) {
    const entry *e = o->e;
    static unsigned char blank[MAP_VALUE_ROOM + MARGIN];
    if (blank[0] == 0)
        memset(blank, 0xee, sizeof blank);
    if (!e->there)
        right(status == TERN_ERR_NOT_FOUND && memcmp(o->value, blank, o->bytes) == 0, what, o,
              status);
    else if (e->bytes > o->bytes)
        right(status == TERN_ERR_RANGE && (bytes == e->bytes || bytes == 0), what, o, status);
    else
        right(status == TERN_OK && bytes == e->bytes && memcmp(o->value, e->value, bytes) == 0,
              what, o, status);
    right(memcmp(o->value + o->bytes, blank, MARGIN) == 0, "the memory behind a value", o, status);
}

static void find_one(operation *o, tern_flags flags) {
    size_t bytes = NEVER;
    void *copy = o;
    tern_status status =
        tern_map_find(s.f.worker, s.map, o->key, o->key_bytes, flags, o->value, o->bytes, &bytes);
    found(o, status, bytes, "find");
    right(bytes == (o->e->there ? o->e->bytes : NEVER), "the size that a find tells", o, status);
    bytes = NEVER;
    status = tern_map_find_alloc(s.f.worker, s.map, o->key, o->key_bytes, flags, &copy, &bytes);
    if (!o->e->there) {
        right(status == TERN_ERR_NOT_FOUND && copy == o && bytes == NEVER, "find_alloc", o, status);
        return;
    }
    right(status == TERN_OK && bytes == o->e->bytes && copy != NULL &&
              memcmp(copy, o->e->value, bytes) == 0,
          "find_alloc", o, status);
    if (status == TERN_OK)
        free(copy);
}

static void find_many(void) {
    tern_map_slot slots[STEP_MOST];
    size_t present = NEVER, there = 0, large = 0;
    for (size_t i = 0; i < s.count; i++) {
        const operation *o = &s.o[i];
        slots[i] = (tern_map_slot){o->key, o->key_bytes, o->value, o->bytes, NEVER, NEVER};
        there += o->e->there;
        large += o->e->there && o->e->bytes > o->bytes;
    }
    const tern_status status =
        tern_map_find_many(s.f.worker, s.map, slots, s.count, next_path(), &present);
    right(status == (large > 0 ? TERN_ERR_RANGE : TERN_OK) && present == there, "find_many", s.o,
          status);
    for (size_t i = 0; i < s.count; i++) {
        const operation *o = &s.o[i];
        right(slots[i].found == o->e->there &&
                  slots[i].value_bytes == (o->e->there ? o->e->bytes : 0),
              "a slot", o, status);
        found(o,
              !o->e->there             ? TERN_ERR_NOT_FOUND
              : o->e->bytes > o->bytes ? TERN_ERR_RANGE
                                       : TERN_OK,
              slots[i].value_bytes, "find_many");
    }
}

static void find_started(void) {
    tern_request request[STEP_MOST] = {0};
    tern_status start[STEP_MOST];
    for (size_t i = 0; i < s.count; i++)
        start[i] = tern_map_find_start(s.f.worker, s.map, s.o[i].key, s.o[i].key_bytes, next_path(),
                                       s.o[i].value, s.o[i].bytes, &request[i]);
    for (size_t i = s.count; i-- > 0;) {
        right(start[i] == TERN_OK, "find_start", &s.o[i], start[i]);
        const tern_status status = outcome(start[i], &request[i]);
        found(&s.o[i], status, (size_t)tern_request_result(&request[i]), "find_start");
    }
}

static void find(void) {
    choose(0, KEYS);
    give_rooms();
    if (s.form == STARTED)
        find_started();
    else if (s.form == BLOCKING)
        for (size_t i = 0; i < s.count; i++)
            find_one(&s.o[i], next_path());
    else
        find_many();
}

static void step(void) {
    s.steps++;
    switch (draw(16)) {
    case 0:
        erase();
        break;
    case 1:
    case 2:
        modify();
        break;
    case 3:
        swap();
        break;
    case 4:
    case 5:
        add();
        break;
    case 6:
        insert(true, draw(2) == 0);
        break;
    case 7:
        insert(false, true);
        break;
    case 8:
    case 9:
    case 10:
        insert(false, false);
        break;
    default:
        find();
    }
}

typedef struct tally {
    uint64_t own, all;
} tally;

static int visit(const tern_map_item *item, void *argument) {
    tally *t = argument;
    const operation nothing = {&s.entry[0], NULL, 0, 0, NULL};
    t->all++;
    for (size_t k = 0; k < KEYS; k++) {
        const entry *e = &s.entry[k];
        if (item->key_bytes != s.key_bytes[k] || memcmp(item->key, s.key[k], s.key_bytes[k]) != 0)
            continue;
        t->own++;
        right(e->there && item->value_bytes == e->bytes &&
                  memcmp(item->value, e->value, e->bytes) == 0 &&
                  ((uintptr_t)item->key | (uintptr_t)item->value) % 8 == 0,
              "for_each", &nothing, TERN_OK);
    }
    return 0;
}

/* Collective: compares all keys and sizes with the model, in a phase of reads. */
static void audit(void) {
    uint64_t mine[2] = {0, 0}, all[64][2], there = 0, here = 0, size = NEVER;
    tally own = {0, 0}, any = {0, 0};
    EXPECT_OK(tern_barrier(s.f.worker));
    for (size_t k = 0; k < KEYS; k++) {
        operation o = {&s.entry[k], s.key[k], s.key_bytes[k], MAP_VALUE_ROOM, s.room[0]};
        memset(o.value, 0xee, MAP_VALUE_ROOM + MARGIN);
        find_one(&o, TERN_READ_ONLY | next_path());
        mine[0] += s.entry[k].there;
    }
    EXPECT_OK(tern_map_local_size(s.f.worker, s.map, &mine[1]));
    EXPECT_OK(tern_map_for_each(s.f.worker, s.map, visit, &own));
    EXPECT_OK(tern_map_for_each_anywhere(s.f.worker, s.map, visit, &any));
    fixture_share(&s.f, mine, sizeof mine, all);
    for (uint32_t r = 0; r < s.f.size; r++) {
        there += all[r][0];
        here += all[r][1];
    }
    EXPECT_OK(tern_map_size(s.f.worker, s.map, &size));
    CU_ASSERT(size == there && here == there && own.all == mine[1]);
    CU_ASSERT(any.own == mine[0] && any.all == there);
    EXPECT_OK(tern_barrier(s.f.worker));
}

/* Maps that grow from one key on, and maps with room, in turns; with a different inline size each.
 */
static void every_form_answers_alike(void) {
    static const size_t inline_sizes[] = {0, 100, TERN_MAP_INLINE_MAX};
    if (!fixture_enter(&s.f))
        return;
    const int steps = fixture_times(&s.f, 600);
    make_keys();
    for (form form = 0; form < FORMS; form++) {
        const bool grow = (form + s.f.size) % 2;
        const size_t inline_bytes = inline_sizes[(form + s.f.size) % 3];
        s.map = map_make(&s.f, (tern_map_options){.capacity = grow ? 1 : KEYS * s.f.size,
                                                  .inline_bytes = inline_bytes,
                                                  .grow = grow});
        const size_t before = heap_at_first(&s.f);
        EXPECT_OK(tern_map_buffer_create(s.f.worker, s.map, 1 + below(&s.paths, 5), &s.buffer));
        s.form = form;
        s.script = fixture_seed(&s.f, 1);
        s.paths = fixture_seed(&s.f, 2 + form);
        s.steps = 0;
        for (size_t k = 0; k < KEYS; k++)
            s.entry[k].there = false;
        for (int i = 0; i < steps && s.wrong == 0; i++)
            step();
        EXPECT_OK(tern_map_buffer_destroy(s.f.worker, s.buffer, NULL));
        audit();
        clear_and_expect_heap(&s.f, s.map, before);
        map_end(&s.f, s.map);
    }
    CU_ASSERT_EQUAL(s.wrong, 0);
    fixture_close(&s.f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"every_form_answers_alike", every_form_answers_alike},
    };
    return tern_test_main(argc, argv, "map_model", tests, sizeof tests / sizeof tests[0]);
}
