// Maps of C++ (tern/cpp/map.hpp) on two ranks: a part of the programs cplusplus and
// cplusplus_plain.

#include "cplusplus.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

static void test_values(const tern::context &context, const tern::worker &worker) {
    using namespace std::string_literals;
    using namespace std::string_view_literals;
    const std::uint32_t me = context.rank();
    const std::string own = "rank " + std::to_string(me);
    const std::vector<double> samples(300, 1.5 + me);
    auto map = tern::map::create(worker, 100).value();
    CHECK(map.insert(own, samples).value() && !map.insert(own, samples).value());
    if (me == 0) {
        CHECK(map.insert("name", "tern").value());
        CHECK(!map.insert_new("name"sv, "gull"s).value());
        CHECK(map.insert("", "").value());
        CHECK(map.insert(tern::bytes_of(7), tern::bytes_of(0.5)).value());
    }
    CHECK(map.size().value() == 5);
    CHECK(map.find("name").value() == "tern");
    CHECK(map.find("").value() == "");
    CHECK(!map.find("nam").value().has_value());
    CHECK(map.find<double>(tern::bytes_of(7)).value() == 0.5);
    CHECK(map.find<float>(tern::bytes_of(7)).status() == TERN_ERR_RANGE); // 8 bytes, not 4
    CHECK(map.find<wide>(tern::bytes_of(7)).status() == TERN_ERR_RANGE);
    auto theirs = map.find<std::vector<double>>("rank " + std::to_string(1 - me)).value();
    CHECK(theirs == std::vector<double>(300, 2.5 - me));
    using three = std::array<char, 3>;
    CHECK(map.find<std::vector<three>>("name").status() == TERN_ERR_RANGE);
    auto name = map.find_alloc("name").value();
    CHECK(name.has_value() && name->size() == 4 && name->text() == "tern");
    CHECK(!map.find_alloc("gull").value().has_value());
    CHECK(map.find(std::string(TERN_MAP_KEY_MAX + 1, 'x')).status() == TERN_ERR_RANGE);
    CHECK(tern::barrier(worker).ok());

    std::uint64_t here = 0;
    std::vector<std::size_t> sizes;
    CHECK(
        map.for_each([&](tern::bytes key, tern::bytes) { here += map.owner_of(key) == me; }).ok());
    CHECK(here == map.local_size().value());
    CHECK(map.for_each_anywhere([&](tern::bytes key, tern::bytes value) {
                 sizes.push_back(value.size());
                 if (key.text() == "name")
                     CHECK(value.text() == "tern");
             })
              .ok());
    std::sort(sizes.begin(), sizes.end());
    CHECK(sizes == std::vector<std::size_t>({0, 4, 8, 2400, 2400}));
    // A status of the visitor: an error ends the walk and is returned.
    int seen = 0;
    auto until = [&](tern_status last) {
        return [&seen, last](tern::bytes, tern::bytes) { return ++seen < 3 ? TERN_OK : last; };
    };
    CHECK(map.for_each_anywhere(until(TERN_OK)).ok() && seen == 5);
    seen = 0;
    CHECK(map.for_each_anywhere(until(TERN_ERR_RANGE)).status() == TERN_ERR_RANGE && seen == 3);
    int visits = 0;
    CHECK(map.for_each_anywhere([&](tern::bytes, tern::bytes) { return ++visits < 2; }).ok());
    CHECK(visits == 2);
    CHECK(tern::barrier(worker).ok());
    CHECK(map.erase(own).value() && !map.erase(own).value());
    CHECK(map.clear().ok() && map.size().value() == 0);
}

// Words of any length are counted by a map alone.
static void test_words(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank();
    tern_map_options grow = {};
    grow.grow = 1;
    auto counts = tern::map::create(worker, 2, grow).value();
    std::istringstream text("one for sorrow two for mirth three for the funerals of "
                            "hippopotomonstrosesquippedaliophobia four for birth");
    std::string word;
    for (std::uint32_t i = 0; text >> word; i++) {
        if (i % 2 == me)
            CHECK(counts.add(word).ok());
    }
    CHECK(counts.size().value() == 12);
    CHECK(counts.find<std::uint64_t>("for").value() == 4);
    CHECK(counts.find<std::uint64_t>("hippopotomonstrosesquippedaliophobia").value() == 1);
    std::uint64_t words = 0;
    CHECK(counts
              .for_each_anywhere([&](tern::bytes, tern::bytes number) {
                  words += *static_cast<const std::uint64_t *>(number.data());
              })
              .ok());
    CHECK(words == 15);
    CHECK(tern::barrier(worker).ok());
}

// Numbers, futures and batches of a map.
static void test_map_numbers(const tern::context &context, const tern::worker &worker) {
    const std::uint32_t me = context.rank();
    auto map = tern::map::create(worker, 100).value();
    const std::string mine = "of rank " + std::to_string(me);
    CHECK(map.add(mine, 5).value() == 0 && map.add(mine).value() == 5);
    CHECK(map.compare_swap(mine, 6, 9).value() == 6); // now it is 9
    CHECK(map.compare_swap(mine, 6, 1).value() == 9);
    CHECK(!map.compare_swap("nothing", 0, 1).value().has_value());
    CHECK(map.add_start(mine, 2, TERN_BY_CALL).value().get().value() == 9);
    CHECK(map.find<std::uint64_t>(mine).value() == 11);

    const std::string text = "text of rank " + std::to_string(me);
    for (tern_flags flags : {TERN_BY_RMA, TERN_BY_CALL}) {
        CHECK(map.insert_start(text, "tern", flags).value().get().value() ==
              (flags == TERN_BY_RMA));
        CHECK(!map.insert_new_start(text, "gull", flags).value().get().value());
        auto number = map.find_start<std::uint64_t>(mine, flags).value();
        auto found = map.find_start(text, 100, flags).value();
        CHECK(found.get().value() == "tern" && found.get().value() == "tern");
        CHECK(number.get().value() == 11);
        auto pairs = map.find_start<std::vector<std::uint16_t>>(text, 2, flags).value();
        CHECK(pairs.get().value().size() == 2);
        auto small = map.find_start(text, 3, flags);
        const tern_status status = small.status(); // of an operation that is done at once
        CHECK((status == TERN_OK ? std::move(small).value().get().status() : status) ==
              TERN_ERR_RANGE);
        CHECK(map.find_start<double>(text, flags).value().get().status() == TERN_ERR_RANGE);
        using three = std::array<char, 3>;
        CHECK(map.find_start<std::vector<three>>(text, 2, flags).value().get().status() ==
              TERN_ERR_RANGE);
        CHECK(map.find_start<double>("nothing", flags).value().get().status() ==
              TERN_ERR_NOT_FOUND);
    }
    CHECK(map.add(text).status() == TERN_ERR_RANGE); // it is no number

    const std::size_t count = 40; // more than are under way at once
    std::vector<std::string> keys(count);
    std::vector<std::uint64_t> numbers(count), back(count);
    std::vector<tern_map_item> items;
    std::vector<tern_map_slot> slots;
    for (std::size_t i = 0; i < count; i++) {
        keys[i] = "number " + std::to_string(i);
        numbers[i] = i;
        items.push_back(tern::map_item(keys[i], tern::bytes_of(numbers[i])));
        slots.push_back(tern::map_slot(keys[i], &back[i], sizeof back[i]));
    }
    items.pop_back(); // one key is not there
    CHECK(me != 0 || map.insert_many(items.data(), items.size()).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(map.add_many(items.data(), items.size(), 10).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(map.find_many(slots.data(), slots.size()).value() == 39);
    CHECK(back[0] == 20 && back[38] == 58 && slots[38].found && !slots[39].found);
    slots[0].room = 4;
    CHECK(map.find_many(slots.data(), 1).status() == TERN_ERR_RANGE && slots[0].value_bytes == 8);
    CHECK(tern::barrier(worker).ok());
}

static tern::result<std::uint64_t> append(tern_map_modify_info &info, tern::bytes more) {
    const std::size_t before = info.value_bytes;
    tern_status status = tern_map_resize(&info, before + more.size());
    if (status != TERN_OK)
        return status;
    if (more.size() > 0)
        std::memcpy(static_cast<char *>(info.value) + before, more.data(), more.size());
    return before;
}
static constexpr auto refuse = +[](tern_map_modify_info &info, tern::bytes) -> tern::result<void> {
    tern_status status = tern_map_resize(&info, 0);
    return status == TERN_OK ? tern_call_fail(nullptr, TERN_ERR_EXISTS, "it stays") : status;
};

static tern_status longer_than(tern_map_modify_info &info, tern::bytes least) {
    return info.value_bytes > least.size() ? TERN_OK : TERN_ERR_RANGE;
}

// Functions that change values, and files.
static void test_changes(const tern::context &context, const tern::worker &worker) {
    const std::string own = "rank " + std::to_string(context.rank());
    auto map = tern::map::create(worker, 100).value();
    CHECK(map.modify<append>(own, "te").status() == TERN_ERR_NOT_FOUND);
    CHECK(map.modify<append>(own, "te", TERN_ABSENT_INSERT).value() == 0);
    for (tern_flags flags : {TERN_BY_RMA, TERN_BY_CALL}) {
        CHECK(map.modify<append>(own, "rn", TERN_ABSENT_FAIL, flags).ok());
        CHECK(map.modify<refuse>(own, "", TERN_ABSENT_FAIL, flags).status() == TERN_ERR_EXISTS);
        CHECK(std::strstr(tern_error_detail(), "it stays") != nullptr);
        CHECK(map.modify<longer_than>(own, "te", TERN_ABSENT_FAIL, flags).ok());
        tern::result<void> shorter =
            map.modify<longer_than>(own, "ternrn.", TERN_ABSENT_FAIL, flags);
        CHECK(shorter.status() == TERN_ERR_RANGE);
    }
    CHECK(map.find(own).value() == "ternrn");
    for (int i = 0; i < 50; i++) // by both ranks, into a block
        CHECK(map.modify<append>("both", own, TERN_ABSENT_INSERT).ok());
    CHECK(tern::barrier(worker).ok());
    CHECK(map.find("both").value()->size() == 600);

    const std::string path = file_name(context, worker) + ".map";
    CHECK(map.save(path.c_str(), "note").ok());
    tern_map_file file = {};
    auto same = tern::map::load(worker, path.c_str(), {}, &file).value();
    CHECK(file.keys == 3 && file.note_bytes == 4 && std::memcmp(file.note, "note", 4) == 0);
    CHECK(same.find(own).value() == "ternrn" && same.find("both").value()->size() == 600);
    CHECK(same.size().value() == 3);
    CHECK(context.rank() != 0 || unlink(path.c_str()) == 0);
    CHECK(tern::barrier(worker).ok());
    CHECK(tern::map::load(worker, path.c_str()).status() == TERN_ERR_NOT_FOUND);
}

void test_maps(const tern::context &context, const tern::worker &worker) {
    test_values(context, worker);
    test_words(context, worker);
    test_map_numbers(context, worker);
    test_changes(context, worker);
}
