// Work that makes more work: ranges of numbers are cut in halves, and primes are counted in small
// ones. A map keeps the largest prime that each rank has found. Run: mpirun -n 4 primes
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>

#include <tern/tern.hpp>

struct range {
    std::uint64_t first, end;
};

static bool is_prime(std::uint64_t n) {
    for (std::uint64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n > 1;
}

static void count_primes() {
    auto context = tern::context::create(MPI_COMM_WORLD).value();
    auto worker = context.adopt().value();
    auto work = tern::distributed_queue<range>::create(worker, 1024).value();
    auto largest = tern::map::create(worker, 100).value();

    std::uint64_t primes = 0, last = 0;
    if (context.rank() == 0)
        work.try_push({0, 200000}).value();
    while (auto item = work.pop().value()) { // nothing: all work is done, on all ranks
        if (item->end - item->first > 500) {
            const std::uint64_t middle = (item->first + item->end) / 2;
            work.try_push({item->first, middle}).value();
            work.try_push({middle, item->end}).value();
            continue;
        }
        for (std::uint64_t n = item->first; n < item->end; n++) {
            if (is_prime(n)) {
                primes++;
                last = std::max(last, n);
            }
        }
    }

    largest.insert("rank " + std::to_string(context.rank()), std::to_string(last)).value();
    tern::allreduce(worker, TERN_REDUCE_SUM, &primes).value();
    tern::allreduce(worker, TERN_REDUCE_MAX, &last).value();
    tern::barrier(worker).value(); // all ranks have inserted
    if (context.rank() == 0) {
        auto print = [](tern::bytes rank, tern::bytes prime) {
            std::cout << rank.text() << " has found " << prime.text() << '\n';
        };
        largest.for_each_anywhere(print).value();
        std::cout << primes << " primes below 200000, the largest is " << last << '\n';
    }
    tern::barrier(worker).value(); // rank 0 has read
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    try {
        count_primes();
    } catch (const std::exception &e) {
        std::cerr << "primes: " << e.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return MPI_Finalize();
}
