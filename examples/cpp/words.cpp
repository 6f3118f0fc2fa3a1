// All ranks count the words of a text in one table. Run: mpirun -n 4 words [FILE]
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <tern/tern.hpp>

struct word { // a key is plain data: longer words are cut
    char text[24] = {};
};

static word key_of(const std::string &text) {
    word w;
    std::copy_n(text.begin(), std::min(text.size(), sizeof w.text - 1), w.text);
    return w;
}

static void count_words(std::istream &text) {
    auto context = tern::context::create(MPI_COMM_WORLD).value(); // value() throws on an error
    auto worker = context.adopt().value();
    tern_hashtable_options grow = {};
    grow.grow = 1;
    auto counts = tern::counter_map<word>::create(worker, 1000, grow).value();

    // The lines are dealt out to the ranks. No rank reads while others add.
    std::string line, token;
    for (std::uint32_t number = 0; std::getline(text, line); number++) {
        std::istringstream tokens(number % context.size() == context.rank() ? line : "");
        while (tokens >> token) {
            std::transform(token.begin(), token.end(), token.begin(), [](unsigned char c) {
                return std::isalnum(c) ? std::tolower(c) : '\'';
            });
            token.erase(std::remove(token.begin(), token.end(), '\''), token.end());
            if (!token.empty())
                counts.add(key_of(token), 1, TERN_WRITE_ONLY).value();
        }
    }
    std::uint64_t words = counts.size().value(); // collective: every rank has added its words
    if (context.rank() == 0) {
        std::vector<std::pair<std::uint64_t, std::string>> list;
        counts
            .for_each_anywhere([&](const word &w, std::uint64_t n) {
                list.push_back({n, w.text});
            })
            .value();
        std::sort(list.rbegin(), list.rend());
        std::cout << words << " different words\n";
        for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 10); i++)
            std::cout << list[i].first << ' ' << list[i].second << '\n';
    }
    tern::barrier(worker).value(); // rank 0 has read
} // all ranks destroy the table, the worker and the context, in this order

int main(int argc, char **argv) {
    std::istringstream rhyme("One for sorrow, two for mirth,\nthree for a funeral,\n"
                             "four for birth,\nfive for heaven, six for hell,\n"
                             "seven for the devil, his own self.\n");
    std::ifstream file(argc > 1 ? argv[1] : "/dev/null");
    MPI_Init(&argc, &argv);
    try {
        if (!file)
            throw std::runtime_error(std::string("cannot read ") + argv[1]);
        count_words(argc > 1 ? static_cast<std::istream &>(file) : rhyme);
    } catch (const std::exception &e) {
        std::cerr << "words: " << e.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return MPI_Finalize();
}
