/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the eSwitch model, a test tool: never installed. */

#include <config.h>

#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The file's format is described in README.rst.  A mistake in it ends the
 * program: a test that runs on another model than it asked for is worth
 * nothing. */

struct model model = { .counter_lag = 1000 };

static const char *file_name;
static unsigned line_number;

static _Noreturn void
bad(const char *what, const char *word)
{
    eswitch_die("%s:%u: %s: %s", file_name, line_number, what, word);
}

static unsigned
number(const char *text, unsigned max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 0);

    if (!*text || *end || value > max) {
        bad("not a number, or above its limit", text);
    }
    return value;
}

static bool
yes(const char *text)
{
    if (!strcmp(text, "yes")) {
        return true;
    } else if (strcmp(text, "no")) {
        bad("neither yes nor no", text);
    }
    return false;
}

static void
copy(char *to, size_t size, const char *text)
{
    if (strlen(text) >= size) {
        bad("too long", text);
    }
    strcpy(to, text);
}

static bool
is_key(const char *word, const char *key, const char **value)
{
    size_t n = strlen(key);

    *value = word + n + 1;
    return !strncmp(word, key, n) && word[n] == '=';
}

static void
set_eswitch(struct eswitch *eswitch, const char *word, bool *option_set)
{
    const char *value;

    if (is_key(word, "domain", &value)) {
        eswitch->domain = number(value, UINT16_MAX - 1);
    } else if (is_key(word, "driver", &value)) {
        copy(eswitch->driver, sizeof eswitch->driver, value);
    } else if (is_key(word, "device", &value)) {
        if (strcmp(value, "cx5") && strcmp(value, "cx6dx")) {
            bad("neither cx5 nor cx6dx", value);
        }
        eswitch->device = strcmp(value, "cx5") ? CX6DX : CX5;
    } else if (is_key(word, "switchdev", &value)) {
        eswitch->switchdev = yes(value);
    } else if (is_key(word, "dv_xmeta", &value)) {
        eswitch->xmeta = number(value, 4);
    } else if (is_key(word, "dv_flow_en", &value)) {
        eswitch->flow_engine = number(value, 2);
    } else if (is_key(word, "decap_en", &value)) {
        eswitch->decap = yes(value);
    } else if (is_key(word, "release", &value)) {
        eswitch->release = number(value, 9999);
    } else if (is_key(word, "profile", &value)) {
        eswitch->profile = number(value, 8);
    } else if (is_key(word, "allow_duplicate_pattern", &value)) {
        eswitch->duplicates = yes(value);
    } else if (is_key(word, "geneve-option", &value)) {
        *option_set = true;
        eswitch->option = !strcmp(value, "late") ? SUPPORT_LATE
                          : yes(value) ? SUPPORT_YES : SUPPORT_NO;
    } else if (is_key(word, "geneve-option-len", &value)) {
        eswitch->option_len = number(value, 31);
    } else if (is_key(word, "max-rules", &value)) {
        eswitch->max_rules = number(value, UINT32_MAX);
    } else if (is_key(word, "max-encaps", &value)) {
        eswitch->max_contexts = number(value, UINT32_MAX);
    } else {
        bad("unknown setting", word);
    }
}

struct eswitch *
eswitch_find(const char *name)
{
    for (unsigned i = 0; i < model.n_eswitches; i++) {
        if (!strcmp(model.eswitches[i].name, name)) {
            return &model.eswitches[i];
        }
    }
    return NULL;
}

static void
add_eswitch(char *save)
{
    char *word = strtok_r(NULL, " \t\n", &save);
    pthread_rwlockattr_t attr;
    struct eswitch *eswitch;
    bool option_set = false;

    if (!word || eswitch_find(word) || model.n_eswitches >= MAX_ESWITCHES) {
        bad("no name, used twice, or too many", word ? word : "eswitch");
    }
    eswitch = &model.eswitches[model.n_eswitches];
    *eswitch = (struct eswitch) {
        .driver = "mlx5_pci", .domain = model.n_eswitches, .device = CX6DX,
        .switchdev = true, .duplicates = true, .decap = true,
        .flow_engine = 1, .release = 2211, .option_len = 1,
        .max_rules = SIZE_MAX, .max_contexts = SIZE_MAX,
    };
    copy(eswitch->name, sizeof eswitch->name, word);
    /* Packets never stop; who changes rules must get in between. */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(
        &attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&eswitch->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    while ((word = strtok_r(NULL, " \t\n", &save))) {
        set_eswitch(eswitch, word, &option_set);
    }
    if (!option_set) {
        eswitch->option = (eswitch->device == CX6DX && !eswitch->profile
                           ? SUPPORT_YES : SUPPORT_NO);
    }
    model.n_eswitches++;
}

static void
add_port(char *save, bool uplink)
{
    char *eswitch_name = strtok_r(NULL, " \t\n", &save);
    char *name = strtok_r(NULL, " \t\n", &save);
    struct eswitch *eswitch;
    struct port *port;
    bool has_vf = false;
    char *word;

    if (!name || !(eswitch = eswitch_find(eswitch_name))) {
        bad("no such eswitch, or no port", name ? eswitch_name : "");
    }
    if (model.n_ports >= MAX_PORTS) {
        bad("too many ports", name);
    }
    for (unsigned i = 0; i < model.n_ports; i++) {
        if (!strcmp(model.ports[i].name, name)) {
            bad("port used twice", name);
        }
    }
    port = &model.ports[model.n_ports];
    *port = (struct port) {
        .eswitch = eswitch, .uplink = uplink, .index = model.n_ports + 1,
        .id = RTE_MAX_ETHPORTS,
    };
    copy(port->name, sizeof port->name, name);
    pthread_mutex_init(&port->tx_mutex, NULL);
    while ((word = strtok_r(NULL, " \t\n", &save))) {
        const char *value;

        if (!uplink && is_key(word, "vf", &value)) {
            port->vf = number(value, 0xfff);
            has_vf = true;
        } else if (!uplink && is_key(word, "pf", &value)) {
            port->pf = number(value, 3);
        } else if (!uplink && is_key(word, "behind", &value)) {
            copy(port->behind, sizeof port->behind, value);
        } else {
            bad("unknown setting", word);
        }
    }
    if (!uplink && !has_vf) {
        bad("representor without vf=", name);
    }
    model.n_ports++;
}

void
eswitch_init_from(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;

    file_name = path;
    if (!file) {
        eswitch_die("%s: %s", path, strerror(errno));
    }
    for (line_number = 1; getline(&line, &size, file) >= 0; line_number++) {
        char *comment = strchr(line, '#');
        char *save = NULL, *word;

        if (comment) {
            *comment = '\0';
        }
        word = strtok_r(line, " \t\n", &save);
        if (!word) {
            continue;
        } else if (!strcmp(word, "eswitch")) {
            add_eswitch(save);
        } else if (!strcmp(word, "uplink")) {
            add_port(save, true);
        } else if (!strcmp(word, "representor")) {
            add_port(save, false);
        } else {
            char *value = strtok_r(NULL, " \t\n", &save);

            if (value && !strcmp(word, "log")) {
                copy(model.log, sizeof model.log, value);
            } else if (value && !strcmp(word, "control")) {
                copy(model.control, sizeof model.control, value);
            } else if (value && !strcmp(word, "counter-lag")) {
                model.counter_lag = number(value, 60000);
            } else {
                bad("unknown line", word);
            }
        }
    }
    free(line);
    fclose(file);
    eswitch_control_start();
    eswitch_log(LOG_INFO, "model of %u eSwitches, %u ports, from %s",
                model.n_eswitches, model.n_ports, path);
}

static void
init_once(void)
{
    const char *path = getenv("ESWITCH_CONFIG");

    if (path) {
        eswitch_init_from(path);
    }
}

void
eswitch_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_once);
}

struct port *
eswitch_port_find(uint16_t ethdev)
{
    char name[RTE_ETH_NAME_MAX_LEN];

    eswitch_init();
    if (!model.n_ports || !rte_eth_dev_is_valid_port(ethdev)
        || rte_eth_dev_get_name_by_port(ethdev, name)) {
        return NULL;
    }
    for (unsigned i = 0; i < model.n_ports; i++) {
        if (!strcmp(model.ports[i].name, name)) {
            return &model.ports[i];
        }
    }
    return NULL;
}

/* Says at the end what the program left behind. */
static void __attribute__((destructor))
report_leaks(void)
{
    for (unsigned i = 0; i < model.n_eswitches; i++) {
        struct eswitch *eswitch = &model.eswitches[i];
        struct table_node *node = NULL;

        pthread_rwlock_rdlock(&eswitch->lock);
        eswitch_log(LOG_INFO, "exit: eswitch %s has %zu rules, %zu encap "
                    "contexts", eswitch->name, eswitch->n_rules,
                    eswitch->contexts.n);
        while ((node = table_walk(&eswitch->handles, node))) {
            char *text = eswitch_rule_format(
                TABLE_OBJECT(node, struct rule, by_handle));

            eswitch_log(LOG_INFO, "exit: alive: %s", text);
            free(text);
        }
        pthread_rwlock_unlock(&eswitch->lock);
    }
}
