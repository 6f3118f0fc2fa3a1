// Each rank has a strip of a matrix, and puts the last column of it over the first one of the next
// rank's strip. The ranks add up what has come to them. Run: mpirun -n 4 columns
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>

#include <tern/tern.hpp>

constexpr std::ptrdiff_t rows = 100, columns = 50; // of each strip

static void print(tern_call_info &, tern::bytes line) { std::cout << line.text() << std::endl; }

static void exchange() {
    auto context = tern::context::create(MPI_COMM_WORLD).value();
    auto worker = context.adopt().value();
    const tern::team all(worker); // all ranks
    const std::uint32_t next = (all.rank() + 1) % all.size();

    auto strips = tern::alloc_all<double>(worker, rows * columns).value();
    auto flags = tern::alloc_all<std::int64_t>(worker, 1).value();
    auto largest = tern::alloc_all<double>(worker, 1).value();
    double *mine = strips.local(context);
    std::fill_n(mine, rows * columns, all.rank() + 1.0);
    *flags.local(context) = 0;
    *largest.local(context) = 0;
    all.barrier().value(); // no rank puts before all have filled their strips

    // The fence keeps the flag behind the column.
    const auto column = tern::section<double>().dimension(rows, columns, columns);
    tern::put_strided(worker, strips.on(next), mine + columns - 1, column).value();
    tern::fence(worker, next).value();
    tern::put(worker, flags.on(next), std::int64_t(1)).value();
    tern::wait_until(worker, flags.local(context), TERN_EQUAL, std::int64_t(1)).value();

    double sum = 0;
    for (std::ptrdiff_t row = 0; row < rows; row++)
        sum += mine[row * columns];
    tern::accumulate(worker, largest.on(0), TERN_REDUCE_MAX, sum).value();

    // Rank 0 prints a line of each rank, which is written where the call carries it.
    auto call = tern::reserve<print>(worker, {0, 0}, 100).value();
    const int length = std::snprintf(call.as<char>(), call.size(), "rank %u got %g",
                                     static_cast<unsigned>(all.rank()), sum);
    call.commit(static_cast<std::size_t>(length)).value();

    auto added = all.allreduce_start(TERN_REDUCE_SUM, &sum).value(); // goes on in the next line
    tern::quiesce(worker).value();                                   // all calls have run
    added.wait().value();
    if (all.rank() == 0)
        std::cout << "the columns add up to " << sum << ", the largest to "
                  << *largest.local(context) << std::endl;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    try {
        exchange();
    } catch (const std::exception &e) {
        std::cerr << "columns: " << e.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return MPI_Finalize();
}
