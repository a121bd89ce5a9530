/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;

static void
log_line(const char *level, const char *format, va_list args)
{
    struct timespec now;
    struct tm tm;
    char stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);

    pthread_mutex_lock(&log_mutex);
    if (!log_file) {
        log_file = model.log[0] ? fopen(model.log, "a") : stderr;
        if (!log_file) {
            fprintf(stderr, "eswitch: cannot write %s\n", model.log);
            log_file = stderr;
        }
        setvbuf(log_file, NULL, _IOLBF, 0);
    }
    fprintf(log_file, "%s.%03ldZ eswitch %s: ", stamp,
            now.tv_nsec / 1000000, level);
    vfprintf(log_file, format, args);
    putc('\n', log_file);
    pthread_mutex_unlock(&log_mutex);
}

void
eswitch_log(enum log_level level, const char *format, ...)
{
    static const char *const names[] = { "INFO", "FLAG", "ERROR" };
    va_list args;

    if (level == LOG_FLAG) {
        model.n_flagged++;
    } else if (level == LOG_ERROR) {
        model.n_errors++;
    }
    va_start(args, format);
    log_line(names[level], format, args);
    va_end(args);
}

void
eswitch_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_line("ABORT", format, args);
    va_end(args);
    if (log_file != stderr) {
        va_start(args, format);
        fputs("eswitch ABORT: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
    }
    abort();
}

int
eswitch_refuse(struct rte_flow_error *error, int code,
               enum rte_flow_error_type type, const void *cause,
               const char *why)
{
    return rte_flow_error_set(error, code, type, cause, why);
}
