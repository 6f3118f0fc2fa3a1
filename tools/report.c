#include "tools/report.h"

static void report_quote(report *r, const char *text) {
    fputc('"', r->out);
    for (; *text != 0; text++) {
        const unsigned char letter = (unsigned char)*text;
        if (letter == '"' || letter == '\\')
            fprintf(r->out, "\\%c", letter);
        else if (letter < ' ')
            fprintf(r->out, "\\u%04x", letter);
        else
            fputc(letter, r->out);
    }
    fputc('"', r->out);
}

/* The comma, the indentation and the name in front of a value of JSON. */
static void report_lead(report *r, const char *name) {
    fprintf(r->out, "%s\n%*s", r->first ? "" : ",", 2 * r->depth, "");
    r->first = 0;
    if (name == NULL)
        return;
    /* A program rather names a value without spaces: put_and_completion_ns. */
    fputc('"', r->out);
    for (; *name != 0; name++)
        if (*name != ',')
            fputc(*name == ' ' || *name == '-' ? '_' : *name, r->out);
    fputs("\": ", r->out);
}

static void report_down(report *r, const char *name, char bracket) {
    if (r->json) {
        report_lead(r, name);
        fputc(bracket, r->out);
    } else if (name != NULL) {
        fprintf(r->out, "%s%*s%s\n", r->depth == 1 && !r->first ? "\n" : "", 2 * (r->depth - 1), "",
                name);
    }
    r->depth++;
    r->first = 1;
}

static void report_up(report *r, char bracket) {
    r->depth--;
    if (r->json)
        fprintf(r->out, "\n%*s%c", 2 * r->depth, "", bracket);
    r->first = 0;
}

void report_begin(report *r, FILE *out, int json) {
    *r = (report){.out = out, .json = json, .depth = 1, .first = 1};
    if (json)
        fputc('{', out);
}

void report_end(report *r) {
    report_up(r, '}');
    if (r->json)
        fputc('\n', r->out);
}

void report_open(report *r, const char *name) { report_down(r, name, '{'); }

void report_close(report *r) { report_up(r, '}'); }

void report_open_list(report *r, const char *name) { report_down(r, name, '['); }

void report_close_list(report *r) { report_up(r, ']'); }

void report_text(report *r, const char *name, const char *value) {
    if (r->json) {
        report_lead(r, name);
        report_quote(r, value);
        return;
    }
    const int indent = 2 * (r->depth - 1);
    fprintf(r->out, "%*s%-*s %s\n", indent, "", 32 - indent, name != NULL ? name : "", value);
    r->first = 0;
}

void report_number(report *r, const char *name, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    if (!r->json) {
        report_text(r, name, text);
        return;
    }
    report_lead(r, name);
    fputs(text, r->out);
}

void report_yes(report *r, const char *name, int yes) {
    if (!r->json) {
        report_text(r, name, yes ? "yes" : "no");
        return;
    }
    report_lead(r, name);
    fputs(yes ? "true" : "false", r->out);
}
