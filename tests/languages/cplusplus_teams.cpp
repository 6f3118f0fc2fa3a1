// Teams and their collectives in the C++ interface, compared with models on any number of ranks.

#include "cplusplus_model.hpp"

#include <algorithm>
#include <complex>
#include <numeric>
#include <random>
#include <vector>

struct item {
    std::uint32_t rank;
    std::int32_t block, i;
    bool operator==(const item &o) const { return rank == o.rank && block == o.block && i == o.i; }
};

static std::vector<std::uint32_t> members_of(const tern::team &team) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t m = 0; m < team.size(); m++)
        members.push_back(team.translate(m).value());
    return members;
}

// The sum over members first to last - 1 of number i.
template <class T>
static T sum(const std::vector<std::uint32_t> &members, std::uint32_t first, std::uint32_t last,
             std::size_t i, int round) {
    T s = T();
    for (std::uint32_t m = first; m < last; m++)
        s = static_cast<T>(s + number_as<T>(members[m], i, round));
    return s;
}

// Runs operation, blocking or started, on this rank's vector.
template <class T, class Operation>
static std::vector<T> reduced(std::uint32_t rank, std::size_t count, int round,
                              Operation operation) {
    std::vector<T> v(count);
    for (std::size_t i = 0; i < count; i++)
        v[i] = number_as<T>(rank, i, round);
    operation(v.data());
    return v;
}

template <class T> static void test_reductions(const tern::team &team, std::size_t n, int round) {
    const std::vector<std::uint32_t> members = members_of(team);
    const std::uint32_t me = team.rank(), size = team.size(), mine = members[me];
    const std::uint32_t root = static_cast<std::uint32_t>(round) % size;
    const tern_reduction add = TERN_REDUCE_SUM;
    std::vector<T> all[2], rooted[2], upto[2], before[2];
    all[0] = reduced<T>(mine, n, round, [&](T *v) { CHECK(team.allreduce(add, v, n).ok()); });
    all[1] = reduced<T>(mine, n, round,
                        [&](T *v) { CHECK(team.allreduce_start(add, v, n).value().wait().ok()); });
    rooted[0] = reduced<T>(mine, n, round, [&](T *v) { CHECK(team.reduce(root, add, v, n).ok()); });
    rooted[1] = reduced<T>(mine, n, round, [&](T *v) {
        CHECK(team.reduce_start(root, add, v, n).value().get().ok());
    });
    upto[0] = reduced<T>(mine, n, round, [&](T *v) { CHECK(team.scan(add, v, n).ok()); });
    upto[1] = reduced<T>(mine, n, round,
                         [&](T *v) { CHECK(team.scan_start(add, v, n).value().wait().ok()); });
    before[0] = reduced<T>(mine, n, round, [&](T *v) { CHECK(team.scan_before(add, v, n).ok()); });
    before[1] = reduced<T>(mine, n, round, [&](T *v) {
        CHECK(team.scan_before_start(add, v, n).value().wait().ok());
    });
    bool right = true;
    for (std::size_t i = 0; i < n; i++) {
        const T whole = sum<T>(members, 0, size, i, round);
        const T earlier = me == 0 ? number_as<T>(mine, i, round) : sum<T>(members, 0, me, i, round);
        for (int way = 0; way < 2; way++)
            right = right && all[way][i] == whole && (me != root || rooted[way][i] == whole) &&
                    upto[way][i] == sum<T>(members, 0, me + 1, i, round) &&
                    before[way][i] == earlier;
    }
    CHECK(right);
}

// What moves data: the blocks of each member are known on every other.
static void test_blocks(const tern::team &team, std::size_t n, int round) {
    const std::vector<std::uint32_t> members = members_of(team);
    const std::uint32_t me = team.rank(), size = team.size();
    const std::uint32_t root = static_cast<std::uint32_t>(round + 1) % size;
    std::vector<item> mine(n), out, shared[2], rooted[2], all[2], in[2];
    for (std::uint32_t block = 0; block < size; block++)
        for (std::size_t i = 0; i < n; i++)
            out.push_back({members[me], static_cast<int>(block), static_cast<int>(i)});
    std::copy_n(out.begin(), n, mine.begin());
    for (int way = 0; way < 2; way++) {
        shared[way] = mine;
        rooted[way].resize(n * size);
        all[way].resize(n * size);
        in[way].resize(n * size);
    }
    CHECK(team.broadcast(root, shared[0].data(), n).ok());
    if (me == root)
        CHECK(team.gather(root, mine.data(), rooted[0].data(), n).ok());
    else
        CHECK(team.gather(root, mine.data(), nullptr, n).ok());
    CHECK(team.allgather(mine.data(), all[0].data(), n).ok());
    CHECK(team.alltoall(out.data(), in[0].data(), n).ok());
    // All of these are under way together, and a later one may be waited for first.
    std::vector<tern::future<void>> started;
    started.push_back(team.broadcast_start(root, shared[1].data(), n).value());
    started.push_back(team.gather_start(root, mine.data(), rooted[1].data(), n).value());
    started.push_back(team.allgather_start(mine.data(), all[1].data(), n).value());
    started.push_back(team.barrier_start().value());
    started.push_back(team.alltoall_start(out.data(), in[1].data(), n).value());
    for (std::size_t i = started.size(); i-- > 0;)
        CHECK(started[i].wait().ok() && started[i].done().value());
    bool right = true;
    for (int way = 0; way < 2; way++) {
        for (std::size_t i = 0; i < n; i++)
            right = right && shared[way][i] == item{members[root], 0, static_cast<int>(i)};
        for (std::size_t k = 0; k < n * size; k++) {
            const std::uint32_t from = members[k / n];
            const int i = static_cast<int>(k % n);
            right = right && all[way][k] == item{from, 0, i} &&
                    in[way][k] == item{from, static_cast<int>(me), i} &&
                    (me != root || rooted[way][k] == item{from, 0, i});
        }
    }
    CHECK(right);
}

static void test_team(const tern::team &team, std::mt19937 &random) {
    for (int round = 0; round < 4; round++) {
        const std::size_t n = random() % (round == 3 ? 3000 : 40);
        CHECK(team.barrier().ok());
        test_blocks(team, n, round);
        test_reductions<std::int64_t>(team, n, round);
        test_reductions<double>(team, n, round);
    }
}

static void test_numbers(const tern::team &team) {
    test_reductions<std::int32_t>(team, 9, 1);
    test_reductions<std::uint32_t>(team, 9, 2);
    test_reductions<std::uint64_t>(team, 9, 3);
    test_reductions<float>(team, 9, 1);
    test_reductions<std::complex<float>>(team, 9, 2);
    test_reductions<std::complex<double>>(team, 9, 3);
    std::complex<double> turn(0, 1), power = 1;
    for (std::uint32_t m = 0; m < team.size(); m++)
        power *= turn;
    CHECK(team.allreduce(TERN_REDUCE_PRODUCT, &turn).ok() && turn == power);
    std::uint32_t bits = 1u << team.rank();
    CHECK(team.allreduce(TERN_REDUCE_OR, &bits).ok() && bits == (1u << team.size()) - 1);
    double none = 1;
    CHECK(team.allreduce(TERN_REDUCE_AND, &none).status() == TERN_ERR_ARGUMENT);
    CHECK(team.broadcast(team.size(), &none).status() == TERN_ERR_ARGUMENT);
}

void test_teams(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank(), ranks = context.size();
    std::mt19937 random(11); // the same on every rank
    const tern::team all(worker);
    CHECK(all.get() == nullptr && all.rank() == me && all.size() == ranks);
    CHECK(all.translate(ranks).status() == TERN_ERR_ARGUMENT);
    test_team(all, random);
    test_numbers(all);

    auto back = tern::team::create_stride(worker, ranks - 1, -1, ranks).value();
    CHECK(back.rank() == ranks - 1 - me && back.translate(0).value() == ranks - 1);
    test_team(back, random);

    std::vector<std::uint32_t> order(ranks);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    auto shuffled = tern::team::create(worker, order.data(), ranks).value();
    CHECK(members_of(shuffled) == order);
    test_team(shuffled, random);
    test_numbers(shuffled);

    // Even and odd ranks, in descending order. Their teams work at the same time.
    auto half = all.split(me % 2, ranks - me).value();
    CHECK(half.size() == (ranks + 1 - me % 2) / 2 && half.translate(half.rank()).value() == me);
    test_team(half, random);
    auto alone = half.split(TERN_TEAM_ALONE).value();
    CHECK(alone.size() == 1 && alone.translate(0).value() == me);
    test_team(alone, random);
    auto self = tern::team::create(worker, {me}).value();
    auto moved = std::move(self);
    CHECK(self.get() == nullptr && self.barrier().status() == TERN_ERR_ARGUMENT);
    self = std::move(moved);
    CHECK(self.barrier().ok() && self.destroy().ok() && self.get() == nullptr);
    CHECK(tern::team::create(worker, {ranks}).status() == TERN_ERR_ARGUMENT);
    CHECK(tern::team::create(worker, {}).status() == TERN_ERR_ARGUMENT);

    // A team is there until its collectives are complete. An event tells when one is.
    if (me != 0)
        MPI_Barrier(MPI_COMM_WORLD);
    std::int64_t one = 1;
    {
        auto started = back.allreduce_start(TERN_REDUCE_SUM, &one).value();
        CHECK(back.event(started, 77).ok());
        if (me == 0) {
            CHECK(ranks == 1 || back.destroy().status() == TERN_ERR_STATE);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    } // waits
    CHECK(one == ranks);
    auto event = tern::event_wait(worker, TERN_PROBE_LOCAL).value();
    CHECK(event.local_cid == 77 && event.status == TERN_OK && event.bytes == sizeof one);
    CHECK(back.destroy().ok());

    // All ranks, by functions.
    std::uint32_t word = me + 1;
    CHECK(tern::broadcast(worker, ranks - 1, &word).ok() && word == ranks);
    std::complex<float> count(1, -1);
    CHECK(tern::allreduce(worker, TERN_REDUCE_SUM, &count).ok());
    CHECK(count == std::complex<float>(static_cast<float>(ranks), -static_cast<float>(ranks)));
}
