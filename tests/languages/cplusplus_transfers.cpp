// Sections, typed updates, waits for words and calls that are built in place, of the C++ interface.
// Each operation is compared with a model, on any number of ranks. Teams are in
// cplusplus_teams.cpp.

#include "cplusplus_model.hpp"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

int failures = 0;

void check(bool holds, const char *file, int line, const char *text) {
    if (holds)
        return;
    std::fprintf(stderr, "%s:%d: %s (%s)\n", file, line, text, tern_error_detail());
    failures++;
}

// ---- sections ----

// A section, by which an array of the model is accessed too.
struct box {
    std::size_t count[4];
    std::ptrdiff_t remote[4], local[4];
    std::ptrdiff_t remote_first = 0, local_first = 0;
    std::size_t dimensions;
    tern::section<std::int32_t> section;
};

static constexpr std::size_t array_size = 6000;

// A random box whose elements do not overlap, here and there, within arrays of array_size.
static box random_box(std::mt19937 &random) {
    box b = {};
    b.dimensions = random() % 5;
    std::ptrdiff_t remote = 1, local = 1;
    for (std::size_t d = 0; d < b.dimensions; d++) {
        b.count[d] = 1 + random() % 5;
        const auto last = static_cast<std::ptrdiff_t>(b.count[d] - 1);
        const auto step = [&](std::ptrdiff_t &extent, std::ptrdiff_t &first) {
            const std::ptrdiff_t stride = extent + static_cast<std::ptrdiff_t>(random() % 2);
            extent = stride * (last + 1);
            const bool down = random() % 3 == 0;
            first += down ? stride * last : 0;
            return down ? -stride : stride;
        };
        b.remote[d] = step(remote, b.remote_first);
        b.local[d] = step(local, b.local_first);
        b.section.dimension(b.count[d], b.remote[d], b.local[d]);
    }
    return b;
}

// Calls visit(remote index, local index) for each element.
template <class Visit> static void each(const box &b, Visit visit) {
    std::size_t at[4] = {};
    for (;;) {
        std::ptrdiff_t remote = b.remote_first, local = b.local_first;
        for (std::size_t d = 0; d < b.dimensions; d++) {
            remote += static_cast<std::ptrdiff_t>(at[d]) * b.remote[d];
            local += static_cast<std::ptrdiff_t>(at[d]) * b.local[d];
        }
        visit(static_cast<std::size_t>(remote), static_cast<std::size_t>(local));
        std::size_t d = 0;
        while (d < b.dimensions && ++at[d] == b.count[d])
            at[d++] = 0;
        if (d == b.dimensions)
            return;
    }
}

static std::vector<std::int32_t> array_of(std::uint32_t rank, int round) {
    std::vector<std::int32_t> v(array_size);
    for (std::size_t i = 0; i < v.size(); i++)
        v[i] = static_cast<std::int32_t>(i * 8 + rank + static_cast<std::uint32_t>(round) * 100000);
    return v;
}

static void test_puts(const tern::context &context, const tern::worker &worker,
                      tern::pointer<std::int32_t> mine) {
    const std::uint32_t me = context.rank(), ranks = context.size();
    const std::uint32_t right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    for (int round = 0; round < 30; round++) {
        std::mt19937 random(static_cast<unsigned>(round));
        const box b = random_box(random);
        std::int32_t *here = mine.local(context);
        std::fill_n(here, array_size, -1);
        const std::vector<std::int32_t> source = array_of(me, round);
        const std::int32_t *from = source.data() + b.local_first;
        const auto to = mine.on(right) + b.remote_first;
        CHECK(tern::barrier(worker).ok());
        if (round % 3 == 0) {
            CHECK(tern::put_strided(worker, to, from, b.section).ok());
        } else if (round % 3 == 1) {
            CHECK(tern::put_strided_start(worker, to, from, b.section).value().wait().ok());
        } else {
            CHECK(tern::put_strided_notify(worker, {right, 0}, to, from, b.section, round).ok());
            auto event = tern::event_wait(worker, TERN_PROBE_REMOTE).value();
            CHECK(tern::event_id<int>(event).value() == round && event.peer.rank == left);
        }
        CHECK(tern::barrier(worker).ok());
        std::vector<std::int32_t> expected(array_size, -1);
        const std::vector<std::int32_t> theirs = array_of(left, round);
        each(b, [&](std::size_t remote, std::size_t local) { expected[remote] = theirs[local]; });
        CHECK(std::equal(expected.begin(), expected.end(), here));
        CHECK(tern::barrier(worker).ok());
    }
}

static void test_gets(const tern::context &context, const tern::worker &worker,
                      tern::pointer<std::int32_t> mine) {
    const std::uint32_t me = context.rank(), ranks = context.size(), right = (me + 1) % ranks;
    const std::vector<std::int32_t> here = array_of(me, 0), theirs = array_of(right, 0);
    std::copy(here.begin(), here.end(), mine.local(context));
    CHECK(tern::barrier(worker).ok());
    for (int round = 0; round < 30; round++) {
        std::mt19937 random(static_cast<unsigned>(round) * ranks + me);
        const box b = random_box(random);
        std::vector<std::int32_t> got(array_size, -1), expected(array_size, -1);
        const auto from = mine.on(right) + b.remote_first;
        std::int32_t *to = got.data() + b.local_first;
        if (round % 3 == 0) {
            CHECK(tern::get_strided(worker, from, to, b.section).ok());
        } else if (round % 3 == 1) {
            CHECK(tern::get_strided_start(worker, from, to, b.section).value().wait().ok());
        } else {
            const auto id = static_cast<std::uint64_t>(round);
            CHECK(
                tern::get_strided_notify(worker, {right, 0}, to, from, b.section, id, round).ok());
            CHECK(tern::event_wait(worker, TERN_PROBE_LOCAL).value().local_cid == id);
            auto read = tern::event_wait(worker, TERN_PROBE_REMOTE).value();
            CHECK(tern::event_id<int>(read).value() == round && read.is_get == 1);
        }
        each(b, [&](std::size_t remote, std::size_t local) { expected[local] = theirs[remote]; });
        CHECK(got == expected);
    }
    CHECK(tern::barrier(worker).ok());
}

static void test_sections(const tern::context &context, const tern::worker &worker) {
    auto mine = tern::alloc_all<std::int32_t>(worker, array_size).value();
    test_puts(context, worker, mine);
    test_gets(context, worker, mine);

    // One member of each struct of an array.
    struct body {
        double x, y, mass;
        std::int32_t kind;
    };
    std::vector<body> bodies(10, body{1, 2, 3, 4});
    const std::uint32_t right = (context.rank() + 1) % context.size();
    for (std::size_t i = 0; i < 10; i++)
        bodies[i].kind = static_cast<std::int32_t>(10 * context.rank() + i);
    const auto kinds = tern::section<std::int32_t>().dimension_bytes(10, 4, sizeof(body));
    CHECK(tern::put_strided(worker, mine.on(right), &bodies[0].kind, kinds).ok());
    CHECK(tern::barrier(worker).ok());
    const std::uint32_t left = (context.rank() + context.size() - 1) % context.size();
    for (std::size_t i = 0; i < 10; i++)
        CHECK(mine.local(context)[i] == static_cast<std::int32_t>(10 * left + i));

    // Sections that tern refuses before it moves an element.
    const std::int32_t value = 0;
    tern::section<std::int32_t> deep;
    for (int d = 0; d < 12; d++)
        deep.dimension(1, 1, 1);
    CHECK(tern::put_strided(worker, mine, &value, deep).status() == TERN_ERR_ARGUMENT);
    const auto same = tern::section<std::int32_t>().dimension(2, 0, 0);
    CHECK(tern::put_strided(worker, mine, &value, same).status() == TERN_ERR_ARGUMENT);
    const auto far = tern::section<std::int32_t>().dimension(2, PTRDIFF_MAX / 3, 0);
    CHECK(tern::put_strided(worker, mine, &value, far).status() == TERN_ERR_RANGE);
    const auto before = tern::section<std::int32_t>().dimension(2, PTRDIFF_MIN / 2, 0);
    CHECK(tern::put_strided_start(worker, mine, &value, before).status() == TERN_ERR_RANGE);
    CHECK(tern::barrier(worker).ok() && tern::free_all(worker, mine).ok());
}

// ---- typed updates ----

template <class T>
static void test_updates(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank(), ranks = context.size();
    const std::size_t n = 37;
    auto mine = tern::alloc_all<T>(worker, n + 1).value();
    std::fill_n(mine.local(context), n + 1, T(3));
    std::vector<T> values(n), old(n);
    for (std::size_t i = 0; i < n; i++)
        values[i] = number_as<T>(me, i, 0);
    CHECK(tern::barrier(worker).ok());
    for (std::uint32_t r = 0; r < ranks; r++) {
        const auto to = mine.on(r);
        CHECK(tern::accumulate(worker, to, TERN_REDUCE_SUM, values.data(), n).ok());
        CHECK(tern::accumulate_start(worker, to, TERN_REDUCE_SUM, values.data(), n)
                  .value()
                  .wait()
                  .ok());
        CHECK(
            tern::accumulate(worker, to + static_cast<std::ptrdiff_t>(n), TERN_REDUCE_PRODUCT, T(2))
                .ok());
    }
    CHECK(tern::barrier(worker).ok());
    bool right = true;
    for (std::size_t i = 0; i < n; i++) {
        T whole = 3;
        for (std::uint32_t r = 0; r < ranks; r++)
            whole = static_cast<T>(whole + T(2) * number_as<T>(r, i, 0));
        right = right && mine.local(context)[i] == whole;
    }
    T product = 3;
    for (std::uint32_t r = 0; r < ranks; r++)
        product = static_cast<T>(product * T(2));
    CHECK(right && mine.local(context)[n] == product);
    CHECK(tern::barrier(worker).ok());

    // Values that this rank alone replaces at its neighbour, in four ways.
    const auto to = mine.on((me + 1) % ranks);
    const tern_reduction replace = TERN_REDUCE_REPLACE, add = TERN_REDUCE_SUM;
    CHECK(tern::accumulate(worker, to, replace, values.data(), n).ok());
    CHECK(tern::get_accumulate(worker, to, add, values.data(), old.data(), n).ok());
    CHECK(old == values);
    CHECK(tern::get_accumulate_start(worker, to, replace, values.data(), old.data(), n)
              .value()
              .wait()
              .ok());
    for (std::size_t i = 0; i < n; i++)
        right = right && old[i] == static_cast<T>(T(2) * values[i]);
    CHECK(right);
    CHECK(tern::get_accumulate(worker, to, add, T(4)).value() == values[0]);
    CHECK(tern::get_accumulate_start(worker, to, add, T(1)).value().get().value() ==
          static_cast<T>(values[0] + T(4)));
    CHECK(tern::get(worker, to).value() == static_cast<T>(values[0] + T(5)));
    CHECK(tern::barrier(worker).ok() && tern::free_all(worker, mine).ok());
}

static void test_accumulate(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t ranks = context.size();
    test_updates<std::int32_t>(context, worker);
    test_updates<std::uint32_t>(context, worker);
    test_updates<std::int64_t>(context, worker);
    test_updates<std::uint64_t>(context, worker);
    test_updates<float>(context, worker);
    test_updates<double>(context, worker);
    test_updates<std::complex<float>>(context, worker);
    test_updates<std::complex<double>>(context, worker);

    // Every rank adds to one number. Each gets another value of it.
    const std::size_t each = 25;
    auto sums = tern::alloc_all<double>(worker, 1).value();
    auto small = tern::alloc_all<float>(worker, 1).value();
    *sums.local(context) = 0;
    *small.local(context) = 0;
    CHECK(tern::barrier(worker).ok());
    std::vector<double> seen(each), all(each * ranks);
    for (std::size_t i = 0; i < each; i++) {
        auto add = [&] { return tern::get_accumulate(worker, sums.on(0), TERN_REDUCE_SUM, 1.0); };
        seen[i] = (i % 2 == 0 ? tern::fetch_add(worker, sums.on(0), 1) : add()).value();
        CHECK(tern::fetch_add(worker, small.on(0), 0.5f).value() >= 0);
    }
    CHECK(tern::team(worker).allgather(seen.data(), all.data(), each).ok());
    std::sort(all.begin(), all.end());
    bool right = true;
    for (std::size_t i = 0; i < all.size(); i++)
        right = right && all[i] == static_cast<double>(i);
    CHECK(right && tern::barrier(worker).ok());
    CHECK(tern::get(worker, small.on(0)).value() == 0.5f * static_cast<float>(all.size()));
    const auto odd = tern::pointer<double>(tern_ptr_add(sums.place, 1));
    CHECK(tern::accumulate(worker, odd, TERN_REDUCE_SUM, 1.0).status() == TERN_ERR_ARGUMENT);
    CHECK(tern::get_accumulate(worker, sums, TERN_REDUCE_XOR, 1.0).status() == TERN_ERR_ARGUMENT);
    CHECK(tern::barrier(worker).ok() && tern::free_all(worker, sums).ok());
    CHECK(tern::free_all(worker, small).ok());
}

// ---- words ----

template <class T>
static void test_words(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank(), ranks = context.size(), right = (me + 1) % ranks;
    auto mine = tern::alloc_all<T>(worker, ranks).value();
    T *words = mine.local(context);
    std::fill_n(words, ranks, T(-5));
    const bool is_signed = T(-1) < T(0);
    CHECK(tern::barrier(worker).ok());
    CHECK(tern::test_until(worker, words, TERN_GREATER, T(0)).value() == !is_signed);
    CHECK(tern::test_until(worker, words, TERN_LESS_EQUAL, T(0)).value() == is_signed);
    CHECK(tern::wait_until(worker, words, is_signed ? TERN_LESS : TERN_GREATER_EQUAL, T(0)).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(tern::store(worker, mine.on(right), T(9)).ok());
    CHECK(tern::wait_until(worker, words, TERN_EQUAL, T(9)).ok() && words[0] == 9);
    CHECK(tern::barrier(worker).ok());

    // Each rank stores a word of its own at every rank. Each of the ways finds all of them.
    std::vector<T> wanted(ranks);
    std::vector<int> skip(ranks, 0);
    for (std::uint32_t r = 0; r < ranks; r++)
        wanted[r] = static_cast<T>(100 + r);
    tern::word_list<T> list = {words, ranks};
    list.values = wanted.data();
    list.skip = skip.data();
    list.peer = nullptr;
    std::vector<std::size_t> found(ranks);
    CHECK(!tern::test_until_all(worker, list).value());
    CHECK(tern::test_until_any(worker, list).value() == TERN_NO_WORD);
    CHECK(tern::test_until_some(worker, list, found.data()).value() == 0);
    CHECK(tern::barrier(worker).ok());
    for (std::uint32_t r = 0; r < ranks; r++)
        CHECK(tern::store(worker, mine.on(r) + me, wanted[me]).ok());
    for (std::uint32_t k = 0; k < ranks; k++) {
        const std::size_t index = tern::wait_until_any(worker, list, k).value();
        CHECK(index < ranks && words[index] == wanted[index] && skip[index] == 0);
        skip[index] = 1;
    }
    CHECK(tern::wait_until_any(worker, list).value() == TERN_NO_WORD);
    std::fill(skip.begin(), skip.end(), 0);
    CHECK(tern::wait_until_all(worker, list).ok() && tern::test_until_all(worker, list).value());
    CHECK(tern::wait_until_some(worker, list, found.data()).value() == ranks);
    for (std::uint32_t r = 0; r < ranks; r++)
        CHECK(found[r] == r);
    CHECK(tern::test_until_some(worker, list, found.data()).value() == ranks);
    list.values = nullptr;
    list.value = static_cast<T>(100 + me);
    CHECK(tern::test_until_any(worker, list).value() == me);
    list.comparison = TERN_GREATER_EQUAL;
    CHECK(tern::wait_until_some(worker, list, found.data()).value() == ranks - me);
    CHECK(tern::wait_until<T>(worker, nullptr, TERN_EQUAL, 0).status() == TERN_ERR_ARGUMENT);
    CHECK(tern::barrier(worker).ok() && tern::free_all(worker, mine).ok());
}

// ---- calls that are built in place ----

static std::vector<std::int32_t> arrived;

static void collect(tern_call_info &, tern::bytes arguments) {
    const auto *from = static_cast<const std::int32_t *>(arguments.data());
    arrived.insert(arrived.end(), from, from + arguments.size() / sizeof *from);
}
static int collect_size(tern_call_info &, tern::bytes arguments) noexcept {
    arrived.push_back(static_cast<std::int32_t>(arguments.size()));
    return 0;
}
static tern_status count_in_c(tern_call_info *, const void *, std::size_t size) {
    arrived.push_back(-static_cast<std::int32_t>(size));
    return TERN_OK;
}
TERN_FUNCTION(count_in_c);

static void test_in_place(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank(), ranks = context.size();
    const tern_worker_id right = {(me + 1) % ranks, 0};
    const std::uint32_t left = (me + ranks - 1) % ranks;
    std::vector<std::int32_t> expected;
    CHECK(tern::barrier(worker).ok());
    for (std::size_t n : {0u, 1u, 7u, 200u, 1000u, 60000u, 3u}) {
        auto call = tern::reserve<collect>(worker, right, (n + 5) * 4).value();
        CHECK(call.size() == (n + 5) * 4);
        auto *values = call.as<std::int32_t>();
        for (std::size_t i = 0; i < n + 5; i++)
            values[i] = number(me, i, static_cast<int>(n));
        CHECK(call.commit(n * 4).ok());
        for (std::size_t i = 0; i < n; i++)
            expected.push_back(number(left, i, static_cast<int>(n)));
        // Dropped reservations are cancelled, of small ones and of those in memory of tern.
        { auto dropped = tern::reserve<collect>(worker, right, 100 + n * 40).value(); }
    }
    CHECK(tern::quiesce(worker).ok() && arrived == expected);
    arrived.clear();
    CHECK(tern::barrier(worker).ok());

    auto first = tern::reserve<collect_size>(worker, right, 64).value();
    CHECK(tern::reserve<collect>(worker, right, 8).status() == TERN_ERR_STATE);
    CHECK(first.commit(65).status() == TERN_ERR_RANGE);
    auto second = std::move(first);
    first.cancel(); // there is nothing in it
    CHECK(first.data() == nullptr && first.commit(1).status() == TERN_ERR_ARGUMENT);
    CHECK(second.data() != nullptr && second.commit(10).ok());
    CHECK(second.commit(10).status() == TERN_ERR_ARGUMENT);
    second = tern::reserve<collect_size>(worker, right, 64).value();
    second.cancel();
    second = tern::reservation::create(worker, right, &count_in_c_function, 16).value();
    CHECK(second.commit(16).ok());
#if defined(__cpp_exceptions)
    try {
        auto left_open = tern::reserve<collect_size>(worker, right, 64).value();
        throw 1;
    } catch (int) {
    }
#endif
    CHECK(tern::reserve<collect_size>(worker, right, TERN_CHUNK_MAX + 1u).status() ==
          TERN_ERR_RANGE);
    CHECK(tern::quiesce(worker).ok());
    CHECK(arrived == std::vector<std::int32_t>({10, -16}));
    CHECK(tern::barrier(worker).ok());
}

static int run() {
    auto context = tern::context::create(MPI_COMM_WORLD).value();
    auto worker = context.adopt().value();
    test_teams(context, worker);
    test_sections(context, worker);
    test_accumulate(context, worker);
    test_words<std::int64_t>(context, worker);
    test_words<std::uint64_t>(context, worker);
    test_words<std::int32_t>(context, worker);
    test_words<std::uint32_t>(context, worker);
    test_in_place(context, worker);
    return failures != 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = run(); // everything of tern is gone before MPI_Finalize
    MPI_Finalize();
    return status;
}
