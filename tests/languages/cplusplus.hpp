// What the programs cplusplus and cplusplus_plain are made of.

#pragma once

#include <tern/tern.hpp>

extern int failures;

void check(bool holds, const char *file, int line, const char *text);
#define CHECK(holds) check(holds, __FILE__, __LINE__, #holds)

struct wide {
    double values[300]; // more than TERN_RESULT_MAX
};

/* The name of a file that both ranks use, in the folder in which the test runs. */
std::string file_name(const tern::context &context, const tern::worker &worker);

void test_maps(const tern::context &context, const tern::worker &worker);
