/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* cereal: its binary archives over streams on memory that is kept. Records are read into a record
 * that is kept, so that only the first read allocates memory. */

#include "ways.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include <istream>
#include <ostream>
#include <streambuf>

namespace {

struct own_record {
    std::vector<int64_t> ids;
    std::vector<std::string> strings;
    std::vector<double> values;
    template <class Archive> void serialize(Archive &archive) { archive(ids, strings, values); }
};

/* A stream over the whole record, which is written or read from the start. */
struct memory_stream : std::streambuf {
    std::vector<char> memory;
    void begin_write() { setp(memory.data(), memory.data() + memory.size()); }
    std::size_t written() const { return static_cast<std::size_t>(pptr() - pbase()); }
    void begin_read(std::size_t bytes) {
        setg(memory.data(), memory.data(), memory.data() + bytes);
    }
};

struct keeping {
    own_record mine, theirs;
    memory_stream stream;
    std::size_t bytes = 0;
};

void *open_cereal(const archive_record *record) {
    keeping *k = new keeping;
    k->mine.ids.assign(record->ids, record->ids + record->id_count);
    k->mine.strings.assign(record->strings, record->strings + record->string_count);
    k->mine.values.assign(record->values, record->values + record->value_count);
    std::size_t room = 4096 + 8 * (record->id_count + record->value_count);
    for (const std::string &text : k->mine.strings)
        room += 16 + text.size();
    k->stream.memory.resize(room);
    return k;
}

size_t write_cereal(void *state) {
    keeping *k = static_cast<keeping *>(state);
    k->stream.begin_write();
    std::ostream out(&k->stream);
    cereal::BinaryOutputArchive archive(out);
    archive(k->mine);
    return k->bytes = k->stream.written();
}

uint64_t read_cereal(void *state) {
    keeping *k = static_cast<keeping *>(state);
    k->stream.begin_read(k->bytes);
    std::istream in(&k->stream);
    cereal::BinaryInputArchive archive(in);
    archive(k->theirs);
    const own_record &got = k->theirs;
    uint64_t sum = archive_sum_ids(got.ids.data(), got.ids.size());
    for (const std::string &text : got.strings)
        sum += archive_sum_string(text.data(), text.size());
    return sum + archive_sum_values(got.values.data(), got.values.size());
}

void close_cereal(void *state) { delete static_cast<keeping *>(state); }

} // namespace

extern "C" const archive_way archive_cereal = {"cereal", open_cereal, write_cereal, read_cereal,
                                               close_cereal};
