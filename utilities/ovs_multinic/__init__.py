# SPDX-License-Identifier: Apache-2.0
"""The operator's tool of ovs-multinic; main.py lists its subcommands."""
