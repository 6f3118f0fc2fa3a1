// The C++ interface (tern/tern.hpp) on two ranks: owners, typed transfers and atomics,
// notifications, calls, futures, tables and queues; maps are in cplusplus_maps.cpp. Compiled twice,
// with exceptions and without.

#include "cplusplus.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

int failures = 0;

void check(bool holds, const char *file, int line, const char *text) {
    if (holds)
        return;
    std::fprintf(stderr, "%s:%d: %s (%s)\n", file, line, text, tern_error_detail());
    failures++;
}

std::string file_name(const tern::context &context, const tern::worker &worker) {
    std::int64_t pid = context.rank() == 0 ? getpid() : 0;
    CHECK(tern::broadcast(worker, 0, &pid).ok());
    return "cplusplus." + std::to_string(pid);
}

// ---- what is called ----

static std::int64_t seen = 0;

static void note(tern_call_info &call, std::int64_t value, char sign) {
    seen += sign == '-' ? -value : value;
    (void)call;
}
static int add(tern_call_info &, int a, int b) noexcept { return a + b; }
static wide fill(tern_call_info &, double value) {
    wide w;
    for (double &v : w.values)
        v = value;
    return w;
}
static tern::result<int> divide(tern_call_info &call, int a, int b) {
    if (b == 0)
        return tern_call_fail(&call, TERN_ERR_RANGE, "%d / 0", a);
    return a / b;
}
// A status is that of the call, and not a value.
static tern_status odd_only(tern_call_info &call, int number) {
    if (number % 2 == 0)
        return tern_call_fail(&call, TERN_ERR_RANGE, "%d is even", number);
    seen += number;
    return TERN_OK;
}
static std::uint32_t caller(tern_call_info &call) { return call.origin.rank; }
static constexpr auto twice = +[](tern_call_info &, double x) { return 2 * x; };
#if defined(__cpp_exceptions)
static int refuse(tern_call_info &, int) { throw std::runtime_error("not today"); }
#endif

static void test_calls(const tern::context &context, const tern::worker &worker) {
    const tern_worker_id other = {1 - context.rank(), 0};
    seen = 0;
    CHECK(tern::call<note>(worker, other, 7, '+').ok());
    CHECK(tern::phase(worker).ok());
    CHECK(seen == 7);
    CHECK(tern::call<note>(worker, other, 2, '-').ok());
    CHECK(tern::quiesce(worker).ok());
    CHECK(seen == 5);

    CHECK(tern::call_return<add>(worker, other, 1, 2).value() == 3);
    CHECK(tern::call_return<twice>(worker, other, 1.5).value() == 3.0);
    CHECK(tern::call_return<fill>(worker, other, 2.5).value().values[299] == 2.5);
    CHECK(tern::call_return<note>(worker, other, 1, '+').ok());
    CHECK(tern::call_return<caller>(worker, other).value() == context.rank());
    CHECK(tern::call_return<divide>(worker, other, 9, 2).value() == 4);
    auto none = tern::call_return<divide>(worker, other, 9, 0);
    CHECK(none.status() == TERN_ERR_RANGE);
    CHECK(std::strstr(tern_error_detail(), "9 / 0") != nullptr);

    seen = 0;
    CHECK(tern::barrier(worker).ok());
    CHECK(tern::call_return<odd_only>(worker, other, 3).ok());
    tern::result<void> even = tern::call_return<odd_only>(worker, other, 4);
    CHECK(even.status() == TERN_ERR_RANGE);
    CHECK(std::strstr(tern_error_detail(), "4 is even") != nullptr);
    CHECK(tern::quiesce(worker).ok() && seen == 3);

    std::vector<tern::future<int>> sums;
    for (int i = 0; i < 10; i++)
        sums.push_back(tern::call_start<add>(worker, other, i, i).value());
    for (int i = 0; i < 10; i++)
        CHECK(sums[static_cast<std::size_t>(i)].get().value() == 2 * i);
    { auto left = tern::call_start<add>(worker, other, 1, 1).value(); } // its destructor waits
#if defined(__cpp_exceptions)
    CHECK(tern::call_return<refuse>(worker, other, 1).status() == TERN_ERR_STATE);
    CHECK(std::strstr(tern_error_detail(), "not today") != nullptr);
    try {
        (void)tern::call_return<divide>(worker, other, 1, 0).value();
        CHECK(false); // value() of an error has returned
    } catch (const tern::error &e) {
        CHECK(e.status() == TERN_ERR_RANGE);
        CHECK(std::strstr(e.what(), "1 / 0") != nullptr);
    }
#endif
    CHECK(tern::barrier(worker).ok());
}

static void test_transfer(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank(), other = 1 - me;
    // Each rank's pointers come to the other by a broadcast.
    auto mine = tern::alloc<double>(worker, 16).value();
    auto count = tern::alloc<std::int64_t>(worker, 1).value();
    auto small = tern::alloc<std::uint32_t>(worker, 1).value();
    CHECK(tern::store(worker, count, std::int64_t(-5)).ok());
    CHECK(tern::store(worker, small, 7u).ok());
    struct {
        tern::pointer<double> values;
        tern::pointer<std::int64_t> count;
        tern::pointer<std::uint32_t> small;
    } places[2];
    places[me] = {mine, count, small};
    for (std::uint32_t root = 0; root < 2; root++)
        CHECK(tern::broadcast(worker, root, &places[root]).ok());
    auto theirs = places[other].values;
    CHECK(theirs.rank() == other && theirs != mine && !tern::pointer<double>());

    const std::array<double, 4> four = {1, 2, 3, 4};
    CHECK(tern::put(worker, theirs, four.data(), four.size()).ok());
    CHECK(tern::put(worker, theirs + 4, 5.0 + me).ok());
    auto started = tern::put_start(worker, theirs + 5, 7.0).value();
    CHECK(started.get().value() == 7.0);
    CHECK(tern::flush(worker, other).ok() && tern::fence(worker, other).ok());
    CHECK(tern::get(worker, theirs + 4).value() == 5.0 + me);
    CHECK(tern::get_start(worker, theirs + 5).value().get().value() == 7.0);
    double back[4] = {};
    CHECK(tern::get(worker, theirs, back, 4).ok() && back[3] == 4);
    CHECK(tern::barrier(worker).ok());
    CHECK(mine.local(context)[4] == 5.0 + other);

    CHECK(tern::fetch_add(worker, places[0].count, std::int64_t(-1)).value() <= -5);
    CHECK(tern::fetch_add(worker, places[0].small, 1u).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(tern::load(worker, places[0].count).value() == -7);
    CHECK(tern::load(worker, places[0].small).value() == 9);
    CHECK(tern::barrier(worker).ok());
    if (me == 0) {
        CHECK(tern::compare_swap(worker, places[1].count, std::int64_t(-5), std::int64_t(3))
                  .value() == -5);
        CHECK(tern::swap(worker, places[1].count, std::int64_t(4)).value() == 3);
        CHECK(tern::fetch_or(worker, places[1].small, 8u).value() == 7);
        CHECK(tern::fetch_and(worker, places[1].small, 12u).value() == 15);
        CHECK(tern::fetch_xor(worker, places[1].small, 5u).value() == 12);
        CHECK(tern::load(worker, places[1].small).value() == 9);
    }
    auto past = tern::put(worker, theirs + (std::ptrdiff_t(1) << 40), 1.0);
    CHECK(past.status() == TERN_ERR_RANGE);

    double sum = 1.5;
    CHECK(tern::allreduce(worker, TERN_REDUCE_SUM, &sum).ok() && sum == 3.0);
    std::int64_t least = -static_cast<std::int64_t>(me);
    CHECK(tern::allreduce(worker, TERN_REDUCE_MIN, &least).ok() && least == -1);

    // A put that tells its target.
    struct {
        std::int32_t step, rank;
    } id = {9, static_cast<std::int32_t>(me)};
    CHECK(tern::put_notify(worker, {other, 0}, theirs + 8, four.data(), 2, id).ok());
    auto event = tern::event_wait(worker).value();
    CHECK(event.kind == TERN_EVENT_REMOTE && event.peer.rank == other);
    auto got = tern::event_id<decltype(id)>(event).value();
    CHECK(got.step == 9 && got.rank == static_cast<std::int32_t>(other));
    CHECK(tern::event_id<char>(event).status() == TERN_ERR_RANGE);
    CHECK(mine.local(context)[9] == 2.0);
    CHECK(!tern::probe(worker).value().has_value());

    CHECK(tern::barrier(worker).ok());
    CHECK(tern::free(worker, mine).ok() && tern::free(worker, count).ok());
    CHECK(tern::free(worker, small).ok());
    CHECK(tern::barrier(worker).ok());
}

struct name {
    char text[16];
};
struct any_case_hash {
    std::uint64_t operator()(const name &n) const {
        std::uint64_t h = 0;
        for (char c : n.text)
            h = h * 31 + static_cast<unsigned char>(c | 0x20);
        return h;
    }
};
struct any_case_equal {
    bool operator()(const name &a, const name &b) const {
        for (std::size_t i = 0; i < sizeof a.text; i++)
            if ((a.text[i] | 0x20) != (b.text[i] | 0x20))
                return false;
        return true;
    }
};

static void test_tables(const tern::context &context, const tern::worker &worker) {
    const int me = static_cast<int>(context.rank());
    auto map = tern::hash_map<int, double>::create(worker, 1000).value();
    for (int i = 0; i < 100; i++)
        CHECK(map.insert(2 * i + me, i * 0.5).value());
    CHECK(!map.insert(me, 7.0).value());
    CHECK(!map.insert_new(me, 8.0).value());
    CHECK(tern::barrier(worker).ok());
    CHECK(map.size().value() == 200);
    CHECK(map.find(1 - me).value() == 7.0);
    CHECK(!map.find(5000).value().has_value());
    CHECK(map.find_start(2 + me).value().get().value() == 0.5);
    CHECK(map.find_start(5000).value().get().status() == TERN_ERR_NOT_FOUND);
    CHECK(map.insert_start(1000 + me, 1.0).value().wait().ok());
    CHECK(map.erase(1000 + me).value() && !map.erase(1000 + me).value());
    const int keys[3] = {0, 1, 5000};
    double values[3] = {};
    unsigned char found[3];
    CHECK(map.find_many(keys, 3, values, found).value() == 2 && values[1] == 7.0 && !found[2]);
    CHECK(tern::barrier(worker).ok());

    std::uint64_t here = 0, all = 0;
    CHECK(map.for_each([&](const int &key, const double &) {
                 here += map.owner_of(key) == context.rank();
             })
              .ok());
    CHECK(here == map.local_size().value());
    CHECK(map.for_each_anywhere([&](int, double) { return ++all < 150; }).ok() && all == 150);
#if defined(__cpp_exceptions)
    try {
        (void)map.for_each_anywhere([](int, double) { throw 1; });
        CHECK(false); // the exception was lost
    } catch (int) {
    }
#endif
    CHECK(tern::barrier(worker).ok());
    CHECK(map.clear().ok() && map.size().value() == 0);
    const double more[3] = {1, 2, 3};
    CHECK(me != 0 || map.insert_many(keys, more, 3).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(map.find(5000).value() == 3.0);

    auto moved = std::move(map); // one owner
    CHECK(map.get() == nullptr && moved.find(0).value() == 1.0);
    CHECK(moved.on(worker).find(1).value() == 2.0);
    CHECK(tern::barrier(worker).ok());
    CHECK(moved.destroy().ok() && moved.get() == nullptr && moved.destroy().ok());

    auto counts = tern::counter_map<name, any_case_hash, any_case_equal>::create(worker, 100);
    const name words[3] = {{"Tern"}, {"tern"}, {"gull"}};
    CHECK(counts.value().add_many(words, 3, 2).ok());
    CHECK(counts.value().add(words[0]).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(counts.value().find({"TERN"}).value() == 10u);
    CHECK(counts.value().size().value() == 2);
    name mine = {"of rank 0"};
    mine.text[8] = static_cast<char>('0' + me);
    auto added = counts.value().add_start(mine, 3).value();
    CHECK(added.get().value() == 0);
    CHECK(counts.value().compare_swap(mine, 3, 8).value() == 3u);
    CHECK(counts.value().compare_swap(mine, 3, 9).value() == 8u);
    CHECK(!counts.value().compare_swap({"heron"}, 0, 1).value().has_value());

    const std::string path = file_name(context, worker) + ".counts";
    CHECK(counts.value().save(path.c_str(), "words").ok());
    tern_hashtable_file file = {};
    auto same = tern::counter_map<name, any_case_hash, any_case_equal>::load(worker, path.c_str(),
                                                                             {}, &file);
    CHECK(same.value().find({"TERN"}).value() == 10u && same.value().size().value() == 4);
    CHECK(file.keys == 4 && file.note_bytes == 5 && std::memcmp(file.note, "words", 5) == 0);
    auto wrong = tern::hash_map<int, double>::load(worker, path.c_str());
    CHECK(wrong.status() == TERN_ERR_ARGUMENT); // the file has other keys
    CHECK(me != 0 || unlink(path.c_str()) == 0);
}

static double scale(tern_hashtable_modify_info &info, double &value, double by) {
    return value = info.existed ? value * by : by;
}
static void forget(tern_hashtable_modify_info &, double &value, int) noexcept { value = 0; }
static tern::result<int> no_more(tern_hashtable_modify_info &, double &value, double most) {
    if (value >= most)
        return tern_call_fail(nullptr, TERN_ERR_RANGE, "%g is enough", value);
    value++;
    return static_cast<int>(value);
}
static tern_status below(tern_hashtable_modify_info &, double &value, double most) {
    value += 100;
    return value < most ? TERN_OK
                        : tern_call_fail(nullptr, TERN_ERR_RANGE, "%g is too much", value);
}
#if defined(__cpp_exceptions)
static void spoil(tern_hashtable_modify_info &, double &value, int) {
    value = 7;
    throw std::runtime_error("not this one");
}
#endif

// Functions that change values of a table, at both owners.
static void test_modify(const tern::context &context, const tern::worker &worker) {
    const int me = static_cast<int>(context.rank());
    auto map = tern::hash_map<int, double>::create(worker, 100).value();
    for (int i = 0; i < 20; i++) {
        const int key = 2 * i + me;
        CHECK(map.modify<scale>(key, 3).status() == TERN_ERR_NOT_FOUND);
        CHECK(map.modify<scale>(key, 3, TERN_ABSENT_INSERT).value() == 3.0);
        CHECK(map.modify<scale>(key, 2.5).value() == 7.5 && map.find(key).value() == 7.5);
        CHECK(map.modify<no_more>(key, 8).value() == 8);
        CHECK(map.modify<no_more>(key, 8).status() == TERN_ERR_RANGE);
        CHECK(std::strstr(tern_error_detail(), "8.5 is enough") != nullptr);
#if defined(__cpp_exceptions)
        CHECK(map.modify<spoil>(key, 0).status() == TERN_ERR_STATE);
        CHECK(std::strstr(tern_error_detail(), "not this one") != nullptr);
#endif
        CHECK(map.modify<below>(key, 100).status() == TERN_ERR_RANGE);
        CHECK(std::strstr(tern_error_detail(), "108.5 is too much") != nullptr);
        CHECK(map.find(key).value() == 8.5);
        CHECK(map.modify<below>(key, 109).ok() && map.find(key).value() == 108.5);
        CHECK(map.modify<forget>(key, 0).ok() && map.find(key).value() == 0.0);
    }
    CHECK(tern::barrier(worker).ok());
    // Both ranks change one value.
    for (int i = 0; i < 10; i++)
        CHECK(map.modify<no_more>(-1, 100, TERN_ABSENT_INSERT).ok());
    const std::string path = file_name(context, worker) + ".table";
    CHECK(tern::barrier(worker).ok() && map.save(path.c_str()).ok());
    auto same = tern::hash_map<int, double>::load(worker, path.c_str()).value();
    CHECK(same.find(-1).value() == 20.0 && same.size().value() == 41);
    CHECK(me != 0 || unlink(path.c_str()) == 0);
}

struct shop {
    int left;
};
static int sell(tern_call_info &call, std::uint64_t id, int count) {
    shop *here = tern::find_part<shop>(call.worker, "shop", id);
    return here != nullptr ? here->left -= count : -1;
}

// Memory and objects that all ranks make together.
static void test_objects(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank(), other = 1 - me;
    auto mine = tern::alloc_all<int>(worker, 4).value();
    CHECK(mine.rank() == me && mine.on(other).on(me) == mine);
    CHECK(tern::put(worker, mine.on(other) + 1, 40 + static_cast<int>(me)).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(mine.local(context)[1] == 40 + static_cast<int>(other));
    CHECK(tern::free_all(worker, mine.on(0)).ok());

    shop here = {10 + static_cast<int>(me)};
    auto part = tern::part::create(worker, "shop", &here).value();
    auto moved = std::move(part);
    CHECK(part.get() == nullptr && tern::barrier(worker).ok());
    const tern_worker_id there = {other, 0};
    CHECK(tern::call_return<sell>(worker, there, moved.id(), 3).value() ==
          7 + static_cast<int>(other));
    CHECK(tern::call_return<sell>(worker, there, moved.id() + 1, 3).value() == -1);
    CHECK(tern::barrier(worker).ok() && here.left == 7 + static_cast<int>(me));
}

static void test_queues(const tern::context &context, const tern::worker &worker) {
    struct item {
        std::uint32_t rank;
        int number;
    };
    auto queue = tern::queue<item>::create(worker, 1, 64).value();
    for (int i = 0; i < 10; i++)
        CHECK(queue.push({context.rank(), i}).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(queue.size().value() == 20);
    CHECK(tern::barrier(worker).ok());
    int next[2] = {0, 0};
    for (int i = 0; i < 9; i++) {
        auto popped = queue.pop().value();
        CHECK(popped.has_value() && popped->number >= next[popped->rank & 1]);
        next[popped->rank & 1] = popped->number + 1;
    }
    CHECK(tern::barrier(worker).ok());
    item left[8];
    std::size_t count = context.rank() == 0 ? queue.pop_many(left, 8).value() : 2;
    CHECK(count == 2);
    CHECK(tern::barrier(worker).ok());
    CHECK(!queue.try_pop().value().has_value());
    CHECK(queue.pop_timed(0).status() == TERN_ERR_TIMEOUT);
    CHECK(tern::barrier(worker).ok());
    if (context.rank() == 0) {
        std::vector<item> many(70, item{0, 1});
        CHECK(queue.push_many(many.data(), many.size()).value() == 64);
        CHECK(queue.try_push(many[0]).status() == TERN_ERR_FULL);
        CHECK(queue.push_timed(many[0], 0).status() == TERN_ERR_TIMEOUT);
    }
}

static void test_work(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank();
    auto work = tern::distributed_queue<int>::create(worker, 64).value();
    const int first[2] = {3, 4};
    CHECK(work.push_many(first, me).value() == me); // rank 1 has one item, rank 0 none
    CHECK(tern::barrier(worker).ok());
    CHECK(work.size().value() == 1);
    CHECK(tern::barrier(worker).ok());

    // An item of n is the work to push two of n - 1. The ranks do 2^4 - 1 of them.
    std::int64_t done = 0;
    while (auto item = work.pop().value()) {
        done++;
        for (int i = 0; i < 2 && *item > 0; i++)
            CHECK(work.try_push(*item - 1).ok());
    }
    CHECK(tern::allreduce(worker, TERN_REDUCE_SUM, &done).ok() && done == 15);
    CHECK(!work.try_pop().value().has_value());

    // A hold of rank 0 keeps the work from ending.
    int items[4];
    if (me == 0)
        CHECK(work.hold().ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(work.pop_timed(0).status() == TERN_ERR_TIMEOUT);
    CHECK(work.pop_timed(items, 4, 0).status() == TERN_ERR_TIMEOUT);
    CHECK(tern::barrier(worker).ok());
    if (me == 0) {
        CHECK(work.part(1).value().push(7).ok());
        CHECK(work.part(2).status() == TERN_ERR_ARGUMENT);
        CHECK(work.release().ok());
    }
    done = 0;
    for (;;) {
        std::size_t count = work.pop_timed(items, 4, 60).value();
        if (count == 0)
            break;
        done += items[0];
    }
    CHECK(tern::allreduce(worker, TERN_REDUCE_SUM, &done).ok() && done == 7);

    std::vector<int> many(200);
    if (me == 0) {
        CHECK(work.push_many(many.data(), many.size(), TERN_LOCAL).value() == 64);
        CHECK(work.push_many(many.data(), many.size()).value() == 64);
        CHECK(work.try_push(1).status() == TERN_ERR_FULL);
        CHECK(work.pop_many(many.data(), 100).value() == 64);
    }
    auto moved = std::move(work);
    CHECK(work.get() == nullptr && moved.on(worker).size().ok());
}

#if defined(__cpp_exceptions)
extern "C" {
#pragma weak __lsan_disable // they are there under AddressSanitizer alone
#pragma weak __lsan_enable
void __lsan_disable();
void __lsan_enable();
}

// Of what an exception leaves to an operation that is under way.
static void count_leaks(bool counts) {
    if (__lsan_disable != nullptr)
        counts ? __lsan_enable() : __lsan_disable();
}

// An exception that one rank has earlier than the other does not make it wait in destructors.
static void test_unwinding() {
    int rank = 0;
    tern_context *left = nullptr;
    tern_hashtable *table = nullptr;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        auto context = tern::context::create(MPI_COMM_WORLD).value();
        auto worker = context.adopt().value();
        auto map = tern::hash_map<int, int>::create(worker, 10).value();
        count_leaks(false);
        auto found = map.find_start(1).value();
        count_leaks(true);
        left = context;
        table = map.get();
        if (rank == 1)
            MPI_Barrier(MPI_COMM_WORLD);
        throw std::runtime_error("enough");
    } catch (const std::runtime_error &) {
        if (rank == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    // What the owners have left is still there.
    tern_worker *worker = nullptr;
    CHECK(tern_worker_adopt(left, 0, &worker) == TERN_OK);
    CHECK(tern_hashtable_destroy(worker, table) == TERN_OK);
    CHECK(tern_context_destroy(left) == TERN_OK);
}
#endif

static int run() {
    auto context = tern::context::create(MPI_COMM_WORLD).value();
    CHECK(context.size() == 2);
    auto worker = context.adopt().value();
    {
        auto taken = std::move(worker);
        worker = std::move(taken);
    }
    CHECK(context.adopt().status() == TERN_ERR_STATE);
    CHECK(context.adopt(99).status() == TERN_ERR_ARGUMENT);
    test_transfer(context, worker);
    test_calls(context, worker);
    test_tables(context, worker);
    test_modify(context, worker);
    test_queues(context, worker);
    test_work(context, worker);
    test_objects(context, worker);
    test_maps(context, worker);

    tern_config config;
    CHECK(tern_config_init(&config) == TERN_OK);
    config.workers = 0;
    CHECK(tern::context::create(MPI_COMM_WORLD, &config).status() == TERN_ERR_CONFIG);
#if defined(__cpp_exceptions)
    test_unwinding();
#endif
    return failures != 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = run(); // everything of tern is gone before MPI_Finalize
    MPI_Finalize();
    return status;
}
