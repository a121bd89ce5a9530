# SPDX-License-Identifier: Apache-2.0
"""How a module says that it cannot do what it was asked."""


class Failure(Exception):
    """One line for the user: the object first, then what is wrong with it.

    main() prints it after "ovs-multinic: " and ends the program."""
