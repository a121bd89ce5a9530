/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Commands by a Unix socket: a line comes, text goes back, and the connection
 * ends.  The same thread keeps counters as old as hardware's are. */

static const char usage[] =
    "commands:\n"
    "  show [all|eswitches|rules|contexts|totals]\n"
    "  limit-rules ESWITCH|all N|none    limit-encaps ESWITCH|all N|none\n"
    "  fail-create ERRNO [TIMES]|off     fail-query ERRNO|off\n"
    "  fail-destroy ERRNO [TIMES]|off\n"
    "  slow-create MS                    slow-destroy MS\n"
    "  counter-lag MS                    freeze-counters yes|no\n"
    "  geneve-option ESWITCH|all yes|no|late\n"
    "  flush PORT                        reset PORT [MS]\n";

static char *
answer(const char *text)
{
    char *copy = strdup(text);

    if (!copy) {
        abort();
    }
    return copy;
}

static bool
get_number(const char *text, size_t *value)
{
    char *end;

    if (!text || !*text) {
        return false;
    }
    *value = strtoul(text, &end, 0);
    return !*end;
}

static int
get_errno(const char *text)
{
    if (!strcmp(text, "off")) {
        return 0;
    } else if (!strcmp(text, "ENOTSUP")) {
        return ENOTSUP;
    }
    for (int i = 1; i < 134; i++) {
        const char *name = strerrorname_np(i);

        if (name && !strcmp(text, name)) {
            return i;
        }
    }
    return -1;
}

static char *
set_eswitches(const char *verb, const char *name, const char *value)
{
    size_t limit = SIZE_MAX;
    bool found = false;

    if (!name || !value
        || (strcmp(verb, "geneve-option") && strcmp(value, "none")
            && !get_number(value, &limit))) {
        return answer(usage);
    }
    for (unsigned i = 0; i < model.n_eswitches; i++) {
        struct eswitch *eswitch = &model.eswitches[i];

        if (strcmp(name, "all") && strcmp(name, eswitch->name)) {
            continue;
        }
        found = true;
        pthread_rwlock_wrlock(&eswitch->lock);
        if (!strcmp(verb, "limit-rules")) {
            eswitch->max_rules = limit;
        } else if (!strcmp(verb, "limit-encaps")) {
            eswitch->max_contexts = limit;
        } else {
            eswitch->option = (!strcmp(value, "yes") ? SUPPORT_YES
                               : !strcmp(value, "late") ? SUPPORT_LATE
                               : SUPPORT_NO);
        }
        pthread_rwlock_unlock(&eswitch->lock);
    }
    return answer(found ? "ok\n" : "error: no such eSwitch\n");
}

static char *
set_errors(const char *verb, const char *name, const char *times)
{
    int error = name ? get_errno(name) : -1;
    size_t left = 0;

    if (error < 0 || (times && !get_number(times, &left))) {
        return answer("error: no such errno, or not a number\n");
    }
    if (!strcmp(verb, "fail-create")) {
        model.create_error_left = times ? (int) left : -1;
        model.create_error = error;
    } else if (!strcmp(verb, "fail-destroy")) {
        model.destroy_error_left = times ? (int) left : -1;
        model.destroy_error = error;
    } else {
        model.query_error = error;
    }
    return answer("ok\n");
}

static char *
port_command(const char *verb, const char *name, const char *pause)
{
    size_t ms = 0;

    if (pause && !get_number(pause, &ms)) {
        return answer(usage);
    }
    for (unsigned i = 0; name && i < model.n_ports; i++) {
        struct port *port = &model.ports[i];

        if (!strcmp(port->name, name)) {
            if (!strcmp(verb, "reset")) {
                eswitch_port_reset_event(port, ms);
            } else {
                eswitch_port_flush(port, "flushed by the test");
            }
            return answer("ok\n");
        }
    }
    return answer("error: no such port\n");
}

char *
eswitch_control(const char *command)
{
    char line[256], *save = NULL, *verb, *first, *second;
    size_t value;

    snprintf(line, sizeof line, "%s", command);
    verb = strtok_r(line, " \t\r\n", &save);
    first = verb ? strtok_r(NULL, " \t\r\n", &save) : NULL;
    second = first ? strtok_r(NULL, " \t\r\n", &save) : NULL;

    if (!verb) {
        return answer(usage);
    } else if (!strcmp(verb, "show")) {
        return eswitch_show(first ? first : "all");
    } else if (!strcmp(verb, "limit-rules") || !strcmp(verb, "limit-encaps")
               || !strcmp(verb, "geneve-option")) {
        return set_eswitches(verb, first, second);
    } else if (!strcmp(verb, "fail-create") || !strcmp(verb, "fail-query")
               || !strcmp(verb, "fail-destroy")) {
        return set_errors(verb, first, second);
    } else if (!strcmp(verb, "flush") || !strcmp(verb, "reset")) {
        return port_command(verb, first, second);
    } else if (!strcmp(verb, "freeze-counters") && first) {
        model.counters_frozen = !strcmp(first, "yes");
        return answer("ok\n");
    } else if (get_number(first, &value) && value <= 60000) {
        if (!strcmp(verb, "slow-create")) {
            model.slow_create = value;
            return answer("ok\n");
        } else if (!strcmp(verb, "slow-destroy")) {
            model.slow_destroy = value;
            return answer("ok\n");
        } else if (!strcmp(verb, "counter-lag")) {
            model.counter_lag = value;
            return answer("ok\n");
        }
    }
    return answer(usage);
}

static int
listen_on(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address)
        || listen(fd, 8)) {
        eswitch_die("%s: %s", path, strerror(errno));
    }
    return fd;
}

static void
serve(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct timeval limit = { .tv_sec = 5 };
    char command[256];
    size_t n = 0;
    ssize_t got;
    char *text, *p;

    if (fd < 0) {
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    while (n < sizeof command - 1
           && (got = read(fd, command + n, sizeof command - 1 - n)) > 0) {
        n += got;
        if (memchr(command, '\n', n)) {
            break;
        }
    }
    command[n] = '\0';
    text = eswitch_control(command);
    for (p = text; *p; p += got) {
        got = send(fd, p, strlen(p), MSG_NOSIGNAL);
        if (got <= 0) {
            break;
        }
    }
    free(text);
    close(fd);
}

static uint64_t
now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static void *
control_main(void *unused)
{
    struct pollfd pollfd = {
        .fd = model.control[0] ? listen_on(model.control) : -1,
        .events = POLLIN,
    };
    uint64_t next = now_ms();

    (void) unused;
    for (;;) {
        uint64_t now = now_ms();

        if (now >= next) {
            if (!model.counters_frozen) {
                eswitch_counters_refresh();
            }
            next = now + (model.counter_lag ? model.counter_lag : 1000);
        }
        if (poll(&pollfd, 1, next - now > 100 ? 100 : next - now) > 0) {
            serve(pollfd.fd);
        }
    }
    return NULL;
}

void
eswitch_control_start(void)
{
    sigset_t all, old;
    pthread_t thread;

    /* Signals are for the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    if (pthread_create(&thread, NULL, control_main, NULL)) {
        eswitch_die("no thread for the control socket");
    }
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
