/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "nic-policer.h"

#include <string.h>

#include "ovs-thread.h"
#include "sset.h"

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct sset limited_in OVS_GUARDED_BY(mutex)
    = SSET_INITIALIZER(&limited_in);
static struct sset limited_out OVS_GUARDED_BY(mutex)
    = SSET_INITIALIZER(&limited_out);

bool
nic_policer_is_qos(const char *type)
{
    return !strcmp(type, "egress-policer") || !strcmp(type, "trtcm-policer");
}

static bool
change(struct sset *names, const struct sset *wanted)
{
    if (sset_equals(names, wanted)) {
        return false;
    }
    sset_destroy(names);
    sset_clone(names, wanted);
    return true;
}

bool
nic_policer_set(const struct sset *in, const struct sset *out)
{
    bool changed;

    ovs_mutex_lock(&mutex);
    changed = change(&limited_in, in);
    changed |= change(&limited_out, out);
    ovs_mutex_unlock(&mutex);
    return changed;
}

bool
nic_policer_limits_in(const char *name)
{
    bool limited;

    ovs_mutex_lock(&mutex);
    limited = sset_contains(&limited_in, name);
    ovs_mutex_unlock(&mutex);
    return limited;
}

bool
nic_policer_limits_out(const char *name)
{
    bool limited;

    ovs_mutex_lock(&mutex);
    limited = sset_contains(&limited_out, name);
    ovs_mutex_unlock(&mutex);
    return limited;
}
