# SPDX-License-Identifier: Apache-2.0
#
# Our part of the base's Makefile.am.  Paths are those of the staged tree.

# lib/ovs-router.[ch] and lib/route-table.[ch] are ours too: they stand in
# place of the base's files and are in its own lists.
lib_libopenvswitch_la_SOURCES += \
	lib/encap-bridge.c \
	lib/encap-bridge.h \
	lib/encap-check-foreign.c \
	lib/encap-check-mtu.c \
	lib/encap-check-neighbor.c \
	lib/encap-check-private.h \
	lib/encap-check-route.c \
	lib/encap-check-sysctl.c \
	lib/encap-check.c \
	lib/encap-check.h \
	lib/encap-command.c \
	lib/encap-command.h \
	lib/encap-config.c \
	lib/encap-config.h \
	lib/encap-conflict.c \
	lib/encap-conflict.h \
	lib/encap-endpoint.c \
	lib/encap-endpoint.h \
	lib/encap-finding.c \
	lib/encap-finding.h \
	lib/encap-flow.c \
	lib/encap-flow.h \
	lib/encap-foreign.c \
	lib/encap-foreign.h \
	lib/encap-host.c \
	lib/encap-host.h \
	lib/encap-json.c \
	lib/encap-json.h \
	lib/encap-mend.c \
	lib/encap-mend.h \
	lib/encap-monitor.c \
	lib/encap-monitor.h \
	lib/encap-packet.c \
	lib/encap-packet.h \
	lib/encap-problem.c \
	lib/encap-problem.h \
	lib/encap-select.c \
	lib/encap-select.h \
	lib/encap-show.c \
	lib/encap-show.h \
	lib/encap-text.c \
	lib/encap-text.h \
	lib/encap-trace.c \
	lib/encap-trace.h \
	lib/netdev-dummy-address.c \
	lib/netdev-dummy-address.h \
	lib/neighbor-peek.c \
	lib/neighbor-peek.h \
	lib/neighbor-request.c \
	lib/neighbor-request.h \
	lib/nic.c \
	lib/nic.h \
	lib/nic-base-flow.c \
	lib/nic-base-flow.h \
	lib/nic-base-rule.c \
	lib/nic-base-rule.h \
	lib/nic-count.c \
	lib/nic-count.h \
	lib/nic-driver.c \
	lib/nic-driver.h \
	lib/nic-eswitch.c \
	lib/nic-eswitch.h \
	lib/nic-ethdev-count.c \
	lib/nic-ethdev.c \
	lib/nic-ethdev.h \
	lib/nic-flow-api.c \
	lib/nic-flow-api.h \
	lib/nic-forecast.c \
	lib/nic-forecast.h \
	lib/nic-offload.c \
	lib/nic-offload.h \
	lib/nic-offload-private.h \
	lib/nic-offload-rule.c \
	lib/nic-offload-show.c \
	lib/nic-offload-show.h \
	lib/nic-offload-worker.c \
	lib/nic-policer.c \
	lib/nic-policer.h \
	lib/nic-resolver.c \
	lib/nic-resolver.h \
	lib/nic-rule.c \
	lib/nic-rule.h \
	lib/nic-rule-egress.c \
	lib/nic-rule-flow.c \
	lib/nic-rule-flow.h \
	lib/nic-rule-flow-private.h \
	lib/nic-rule-format.c \
	lib/nic-rule-ingress.c \
	lib/nic-rule-match.c \
	lib/nic-rule-rewrite.c \
	lib/nic-rule-rte.c \
	lib/nic-rule-rte.h \
	lib/nic-tally.c \
	lib/nic-tally.h \
	lib/ovs-router-command.c \
	lib/ovs-router-command.h \
	lib/route.c \
	lib/route.h \
	lib/route-argument.c \
	lib/route-argument.h \
	lib/route-db-private.h \
	lib/route-db.c \
	lib/route-db.h \
	lib/route-device.c \
	lib/route-device.h \
	lib/route-dump.c \
	lib/route-dump.h \
	lib/route-fib.c \
	lib/route-fib.h \
	lib/route-filter.c \
	lib/route-filter.h \
	lib/route-format.c \
	lib/route-json.c \
	lib/route-json.h \
	lib/route-lookup.c \
	lib/route-lookup.h \
	lib/route-netlink-private.h \
	lib/route-netlink.c \
	lib/route-netlink.h \
	lib/route-netlink-device.c \
	lib/route-netlink-rule.c \
	lib/route-object.c \
	lib/route-object.h \
	lib/route-output.c \
	lib/route-output.h \
	lib/route-prefix.h \
	lib/route-rule.c \
	lib/route-rule.h \
	lib/route-source.c \
	lib/route-sync.c \
	lib/route-sync.h \
	lib/route-update-private.h \
	lib/route-update.c \
	lib/route-update.h \
	lib/route-update-device.c \
	lib/route-watch.c \
	lib/route-watch.h \
	lib/tunnel-egress.c \
	lib/tunnel-egress.h \
	lib/tunnel-listener.c \
	lib/tunnel-listener.h \
	lib/user-route.c \
	lib/user-route.h

ofproto_libofproto_la_SOURCES += \
	ofproto/flow-effect.c \
	ofproto/flow-effect.h \
	ofproto/tunnel-ingress.c \
	ofproto/tunnel-ingress.h \
	ofproto/tunnel-port.c \
	ofproto/tunnel-port.h

vswitchd_ovs_vswitchd_SOURCES += \
	vswitchd/encap-database.c \
	vswitchd/encap-database.h

# Subcommands of ovstest.
tests_ovstest_SOURCES += \
	tests/encap-cases.c \
	tests/encap-cases.h \
	tests/encap-scene.c \
	tests/encap-scene.h \
	tests/encap-twin.c \
	tests/encap-twin.h \
	tests/test-encap-check.c \
	tests/test-encap-config.c \
	tests/test-encap-endpoint.c \
	tests/test-encap-select.c \
	tests/test-encap-flow.c \
	tests/test-encap-foreign.c \
	tests/test-nic.c \
	tests/test-route-argument.c \
	tests/lookup-twin.c \
	tests/lookup-twin.h \
	tests/nic-rule-apply.c \
	tests/nic-rule-apply.h \
	tests/nic-rule-cases.c \
	tests/nic-rule-cases.h \
	tests/nic-rule-check.c \
	tests/nic-rule-check.h \
	tests/nic-rule-packet.c \
	tests/nic-rule-packet.h \
	tests/nic-rule-ports.c \
	tests/nic-rule-ports.h \
	tests/nic-rule-random.c \
	tests/nic-rule-random.h \
	tests/nic-rule-scene.c \
	tests/nic-rule-scene.h \
	tests/nic-rule-twin.c \
	tests/nic-rule-twin.h \
	tests/test-nic-base-rule.c \
	tests/test-nic-offload.c \
	tests/test-nic-offload-copies.c \
	tests/test-nic-offload-port.c \
	tests/test-nic-offload-worker.c \
	tests/test-nic-rule.c \
	tests/test-nic-rule-actions.c \
	tests/test-nic-rule-model.c \
	tests/route-scene.c \
	tests/route-scene.h \
	tests/route-test.c \
	tests/route-test.h \
	tests/test-route-bench.c \
	tests/test-route-db.c \
	tests/test-route-fib.c \
	tests/test-route-lookup.c \
	tests/test-route-mirror.c \
	tests/test-route-netlink.c \
	tests/test-route-readers.c \
	tests/route-netlink-samples.h \
	tests/route-netlink-text.c \
	tests/route-netlink-text.h \
	tests/route-update-check.c \
	tests/route-update-check.h \
	tests/test-route-update.c \
	tests/test-route-rule.c \
	tests/test-route-threads.c \
	tests/test-route-twin.c \
	tests/test-route-watch.c \
	tests/test-tunnel-egress.c \
	tests/test-neighbor-request.c \
	tests/test-tunnel-ingress.c \
	tests/test-tunnel-port.c \
	ofproto/tunnel-ingress.c \
	ofproto/tunnel-port.c

# Our own autotest suite.
MULTINIC_TESTSUITE = $(srcdir)/tests/multinic-testsuite
MULTINIC_TESTSUITE_AT = \
	tests/multinic-testsuite.at \
	tests/encap-check.at \
	tests/encap-check-way.at \
	tests/encap-mend.at \
	tests/encap-command.at \
	tests/encap-database.at \
	tests/encap-local-ip.at \
	tests/encap-monitor.at \
	tests/encap-monitor-change.at \
	tests/encap-monitor-kernel.at \
	tests/encap-select.at \
	tests/encap-trace.at \
	tests/nic-offload.at \
	tests/nic-rule.at \
	tests/ovn-flows.at \
	tests/neighbor.at \
	tests/neighbor-confirmation.at \
	tests/ovs-route-argument.at \
	tests/ovs-route-command.at \
	tests/ovs-route-kernel.at \
	tests/route-fib.at \
	tests/route-lookup.at \
	tests/route-netlink.at \
	tests/route-watch.at \
	tests/tunnel-egress.at \
	tests/tunnel-ingress.at

EXTRA_DIST += multinic.mk $(MULTINIC_TESTSUITE_AT)
CLEANFILES += $(MULTINIC_TESTSUITE)

$(MULTINIC_TESTSUITE): $(MULTINIC_TESTSUITE_AT) $(COMMON_MACROS_AT) package.m4
	$(AM_V_GEN)$(AUTOTEST) -I $(srcdir) -o $@ $(srcdir)/$<

check-multinic: all $(MULTINIC_TESTSUITE)
	$(SHELL) $(MULTINIC_TESTSUITE) -C tests \
	  AUTOTEST_PATH=$(AUTOTEST_PATH) $(TESTSUITEFLAGS)
.PHONY: check-multinic
