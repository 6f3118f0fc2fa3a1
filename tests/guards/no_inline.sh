#!/bin/sh
# no_inline.sh OBJECT COMMAND...: OBJECT, compiled with TERN_NO_INLINE, has no function of tern's own and needs
# those that headers inline elsewhere; COMMAND, the program with a tool between, sees each call.
set -eu
object=$1
shift
symbols=$(nm "$object")
for function in put get flush atomic_fetch_add call; do
    echo "$symbols" | grep -q " U tern_$function\$" || {
        echo "$object does not call tern_$function"
        exit 1
    }
done
if echo "$symbols" | grep ' [TtWV] tern_'; then
    echo "$object has a copy of these"
    exit 1
fi
told=$("$@")
[ "$told" = "puts 3 gets 2 flushes 1 adds 4 calls 5" ] || {
    echo "the tool has seen: $told"
    exit 1
}
