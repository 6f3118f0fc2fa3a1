#ifndef TERN_TOOLS_REPORT_H
#define TERN_TOOLS_REPORT_H

/*
 * What tern-info has to say, as text for people or as JSON. A report is an object of sections; a
 * section has values, each with a name, and lists of values or of sections. In text a section is a
 * heading with a line for each value.
 */

#include <stdio.h>

typedef struct report {
    FILE *out;
    int json;
    int depth; /* of nested sections and lists */
    int first; /* nothing has been written at this depth yet */
} report;

void report_begin(report *r, FILE *out, int json);
void report_end(report *r);

/* name NULL: an item of a list. */
void report_open(report *r, const char *name);
void report_close(report *r);
void report_open_list(report *r, const char *name);
void report_close_list(report *r);

void report_text(report *r, const char *name, const char *value);
void report_number(report *r, const char *name, double value);
void report_yes(report *r, const char *name, int yes);

#endif
