# Turns any number of files of tern-bench --json into the points of figures and the cells of the cost
# model, one per line, with fields separated by tabs:
#
#     point  FIGURE SERIES X ORDER NS     X is its label; ORDER sorts the labels
#     cell   PLACE NAME RMA MODEL CALL MODEL FASTER CHOICE COUNTS
#     search CONFIGURATION MODE COMPLETIONS VISITS_EACH SEQUENTIAL VISITS_EACH SHARED VISITS_EACH OF_ONE
#            CALLS_A_VISIT BYTES_A_VISIT CALLS_A_MESSAGE FULL_A_CALL IDLE PAIRS OUTGROWN
#
# This script adds no numbers: it shows only those in the JSON.

# Stores everything below position at of line in V by its path: V["params.bytes"], V["peers.0.name"].
function skip_to(regex) {
    match(line, regex)
    token = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
}
function value(path,    i, key) {
    skip_to("^[ ,:]*([][{}]|\"[^\"]*\"|[^][{},: ]+)")
    sub(/^[ ,:]*/, "", token)
    if (token == "{") {
        for (; line !~ /^ *}/;) {
            skip_to("^[ ,]*\"[^\"]*\"")
            key = token
            gsub(/^[ ,]*"|"$/, "", key)
            value(path (path == "" ? "" : ".") key)
        }
        skip_to("^ *}")
    } else if (token == "[") {
        for (i = 0; line !~ /^ *\]/; i++)
            value(path "." i)
        skip_to("^ *\\]")
    } else {
        gsub(/^"|"$/, "", token)
        V[path] = token
    }
}

function has(path) { return path in V }
function peer(name, what,    i) {
    for (i = 0; ("peers." i ".name") in V; i++)
        if (V["peers." i ".name"] == name)
            return V["peers." i "." what]
    return ""
}

# Returns the label of a number of ranks. A star says that there were more ranks than cores.
function label() {
    return (hosts ? "2 hosts, " : "") V["ranks"] (V["oversubscribed"] == "true" ? "*" : "")
}
function point(figure, series, x, order, ns) {
    if (ns > 0)
        print "point", figure, series, x, order, ns
}
# Points by the number of ranks, those of two hosts last. Of one host it shows only shm: over other
# transports tern-bench measures these for the cells alone.
function by_ranks(figure, series, ns) {
    if (hosts || V["transport"] == "shm")
        point(figure, series, label(), 1000 * hosts + V["ranks"], ns)
}

function container(figure, name) {
    name = V["case"] " " V["params.promise"]
    if (V["algorithm"] != "improved")
        name = V["algorithm"] " " name
    by_ranks(figure, name, V["value"])
    by_ranks(figure, name ", model", V["model.rma"])
    if (V["algorithm"] == "improved" && V["params.promise"] == "read_write") {
        by_ranks(figure, V["case"] " by call", peer("by call", "value"))
        by_ranks(figure, V["case"] " by call, model", V["model.call"])
    }
}
function attentive(    figure, tail) {
    figure = "6 " place()
    tail = V["params.service_threads"] > 0 ? ", service thread" : ""
    tail = tail (V["oversubscribed"] == "true" ? "*" : "")
    point(figure, "by RMA" tail, V["params.compute_us"], V["params.compute_us"], V["value"])
    point(figure, "by call" tail, V["params.compute_us"], V["params.compute_us"], peer("by call", "value"))
    point(figure, "by auto" tail, V["params.compute_us"], V["params.compute_us"], peer("by auto", "value"))
}
function place() { return hosts ? "two hosts" : V["transport"] }

function cell(    name, i) {
    name = V["algorithm"] == "improved" ? V["case"] : V["algorithm"] " " V["case"]
    for (i = 1; i in order; i++)
        if (has("params." order[i]))
            name = name " " (order[i] ~ /us$|threads|load/ ? order[i] "=" : "") V["params." order[i]]
    print "cell", place(), name, V["value"], V["model.rma"], peer("by call", "value"), V["model.call"],
        V["faster"], V["model.choice"], V["oversubscribed"] == "true" ? "crowded" : V["differ"] == "true" ? "counts" : "equal"
}

function search(    layout, alone) {
    layout = V["params.layout"] (V["oversubscribed"] == "true" ? "*" : "")
    alone = V["params.layout"] == 1
    print "search", layout, V["params.mode"] (has("params.nodes") ? ", " V["params.nodes"] : "") \
        (V["params.under way"] != "default" ? ", many" : ""), V["value"], V["visits_per_completion.tern"],
        alone ? V["ceiling.value"] : peer("sequential, one thread", "value"),
        V["visits_per_completion." (alone ? "alone" : "sequential")],
        peer("one shared tree, as many threads", "value"), V["visits_per_completion.shared"],
        alone ? 1 : peer("tern, one worker", "times"), V["calls_per_visit"], V["bytes_per_visit"],
        V["calls_per_message"], V["full_per_call"], V["idle"], V["pairs_with_rings"], V["rings_outgrown"]
}

function simulated(    name) {
    name = V["params.program"] \
        (V["params.towards"] == "zipf" ? ", Zipf" : V["params.towards"] == "first" ? ", all to one" : "") \
        (V["params.atomics"] == "network" ? ", network's atomics" : "")
    point("scale rate " V["network"], name, V["ranks"], V["ranks"], V["each"])
    point("scale p99 " V["network"], name, V["ranks"], V["ranks"], V["p99"] / 1000)
}
# Memory is the same over all networks, so a point that comes twice is shown once.
function memory(    MiB) {
    MiB = 1048576
    point("scale memory", "before anything is said", V["ranks"], V["ranks"], V["value"] / MiB)
    if (V["params.peers"] == V["ranks"] - 1) {
        point("scale memory", "one call with all", V["ranks"], V["ranks"], V["idle"] / MiB)
        point("scale memory", "rings with all, full", V["ranks"], V["ranks"], V["full"] / MiB)
    } else {
        point("scale memory", "one call with " V["params.peers"], V["ranks"], V["ranks"], V["idle"] / MiB)
        point("scale memory", "rings with " V["params.peers"] ", full", V["ranks"], V["ranks"], V["full"] / MiB)
    }
}

BEGIN {
    OFS = "\t"
    split("promise bytes keys load_percent compute_us service_threads", order, " ")
}
{
    split("", V)
    line = $0
    value("")
}
has("machine.cpu") { hosts = V["machine.same_host"] == "false"; next }
V["bench"] == "model" && V["params.of"] == "all" && V["params.bytes"] <= 8 && V["case"] !~ /,.*put|own/ {
    by_ranks("3", V["case"], V["value"])
}
V["bench"] == "model" && V["case"] == "push" { container("4") }
V["bench"] == "model" && V["case"] ~ /^(insert|find)$/ { container("5") }
V["bench"] == "mcts" && V["case"] == "search" { search() }
V["bench"] == "attentive" && V["case"] == "push" { attentive() }
V["bench"] == "scale" && V["case"] == "rate" { simulated() }
V["bench"] == "scale" && V["case"] == "memory" { memory() }
# Of model it takes only push and pop: hash measures the rows of the hash table, too.
has("model.call") && (V["bench"] != "model" || V["case"] ~ /^(push|pop)$/) && V["bench"] != "queue" { cell() }
