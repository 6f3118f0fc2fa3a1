/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Cap'n Proto: builds the message in memory that is kept, as one segment whose bytes are the
 * message, and reads it in place. */

#include "ways.h"

#include "record.capnp.h"

#include <capnp/message.h>

#include <memory>
#include <vector>

namespace {

struct keeping {
    const archive_record *record;
    std::vector<capnp::word> scratch; /* zero whenever nothing is built in it */
    std::unique_ptr<capnp::MallocMessageBuilder> message;
};

void *open_capnp(const archive_record *record) {
    keeping *k = new keeping;
    std::size_t words = 512 + record->id_count + record->value_count;
    for (std::size_t i = 0; i < record->string_count; i++)
        words += 2 + strlen(record->strings[i]) / 8;
    k->record = record;
    k->scratch.resize(words);
    return k;
}

size_t write_capnp(void *state) {
    keeping *k = static_cast<keeping *>(state);
    const archive_record *r = k->record;
    k->message.reset(); /* clears the used part of the scratch memory */
    k->message.reset(
        new capnp::MallocMessageBuilder(kj::arrayPtr(k->scratch.data(), k->scratch.size())));
    auto root = k->message->initRoot<ArchiveRecord>();
    root.setIds(kj::arrayPtr(r->ids, r->id_count));
    auto strings = root.initStrings(static_cast<unsigned>(r->string_count));
    for (unsigned i = 0; i < strings.size(); i++)
        strings.set(i, r->strings[i]);
    root.setValues(kj::arrayPtr(r->values, r->value_count));
    std::size_t bytes = 0;
    for (const auto &segment : k->message->getSegmentsForOutput())
        bytes += segment.asBytes().size();
    return bytes;
}

uint64_t read_capnp(void *state) {
    keeping *k = static_cast<keeping *>(state);
    capnp::SegmentArrayMessageReader reader(k->message->getSegmentsForOutput());
    auto root = reader.getRoot<ArchiveRecord>();
    uint64_t sum = 0;
    for (int64_t id : root.getIds())
        sum += static_cast<uint64_t>(id);
    for (auto text : root.getStrings())
        sum += archive_sum_string(text.cStr(), text.size());
    auto values = root.getValues();
    for (unsigned i = 0; i < values.size(); i += 8)
        sum += archive_bits(values[i]);
    return sum;
}

void close_capnp(void *state) { delete static_cast<keeping *>(state); }

} // namespace

extern "C" const archive_way archive_capnp = {"Cap'n Proto", open_capnp, write_capnp, read_capnp,
                                              close_capnp};
