#!/bin/sh
# orders.sh ROOT: every atomic access of the library has a label that says on what rule it relies and
# with what it pairs, and docs/memory-order.md has the table of them.
exec "$(dirname "$0")/../../scripts/orders" --check "$1"
