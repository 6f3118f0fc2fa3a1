"""For scripts/size: the files of the library, with their functions and types."""

import collections
import glob
import re
import subprocess

FOLDERS = "base src rma rpc path hashtable map queue lock mailbox mcts pmpi languages include".split()
CONTAINERS = ("hashtable", "map", "queue")
VERBS = r"insert|erase|remove|add|find|look|compare_swap|modify|push|pop"

Function = collections.namedtuple("Function", "name file line length body")
Type = collections.namedtuple("Type", "name file line keyword body")


class Wrong(Exception):
    """Something that ends the script with exit status 2."""


def blank(text):
    """Returns the text with comments and the insides of literals replaced by spaces."""

    def spaces(match):
        found = match.group()
        if found[0] == "/":
            return re.sub(r"[^\n]", " ", found)
        return found[0] + " " * (len(found) - 2) + found[-1]

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'', spaces, text, flags=re.S)


def without_directives(code):
    """Returns the code with the lines of preprocessor directives empty."""
    lines, goes_on = code.split("\n"), False
    for i, line in enumerate(lines):
        directive = goes_on or line.lstrip().startswith("#")
        goes_on = directive and line.rstrip().endswith("\\")
        if directive:
            lines[i] = ""
    return "\n".join(lines)


def end_of_block(code, at):
    """Returns the place of the brace that closes the one at `at`."""
    depth = 0
    for match in re.finditer(r"[{}]", code[at:]):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return at + match.start()
    return len(code) - 1


ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)|_Alignas\([^()]*\)")


def functions_of(path, code):
    """Returns the functions that a file defines. Of a class in C++ the methods, too."""
    code = re.sub(r"(?m)^[A-Z][A-Z0-9_]+\([^(){};]*\);?$", lambda match: " " * len(match.group()), code)
    is_cpp, functions, start, i = path.endswith("pp"), [], 0, 0
    while True:
        match = re.compile(r"[;{}]").search(code, i)
        if match is None:
            return functions
        i = match.start()
        if match.group() != "{":
            i += 1
            start = i
            continue
        head = code[start:i]
        bare = ATTRIBUTE.sub("", head).strip()
        bare = re.sub(r"^(public|private|protected)\s*:", "", bare).strip()
        untyped = re.sub(r"template\s*<.*>", "", bare, flags=re.S)
        if re.match(r'extern\s*"\s*"$|(inline\s+)?namespace\b[^()]*$', bare):
            i += 1
            start = i
        elif re.search(r"\b(struct|union|enum|class)\b[^()]*$", untyped) and not bare.endswith("="):
            if is_cpp and "enum" not in untyped:
                i += 1
                start = i
            else:
                i = end_of_block(code, i) + 1
        elif "(" in bare and not re.search(r"[=\]]$", bare):
            end = end_of_block(code, i)
            named = re.search(r"(operator\s*\S+?|~?[A-Za-z_]\w*)\s*\(", bare)
            first = start + len(head) - len(head.lstrip())
            line = code.count("\n", 0, first) + 1
            length = code.count("\n", first, end) + 1
            functions.append(Function(named.group(1) if named else "?", path, line, length, code[i : end + 1]))
            i = end + 1
            start = i
        else:
            i = end_of_block(code, i) + 1


def typedef_name(text):
    """Returns the name that a typedef makes, of the text behind the keyword."""
    flat = re.sub(r"\{.*\}", "{}", ATTRIBUTE.sub("", text), flags=re.S)
    pointer = re.search(r"\(\s*\*\s*(\w+)", flat)
    if pointer:
        return pointer.group(1)
    function = re.search(r"(\w+)\s*\(", flat)
    words = re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", flat))
    return function.group(1) if function else words[-1] if words else ""


def types_of(path, code):
    """Returns the structs, unions, enums and typedefs that a file of C defines."""
    types = []
    bare = ATTRIBUTE.sub(lambda match: " " * len(match.group()), code)
    for match in re.finditer(r"\b(struct|union|enum)\b\s*(\w*)\s*\{", bare):
        end = end_of_block(code, match.end() - 1)
        name = match.group(2) or re.match(r"\s*(\w*)", code[end + 1 :]).group(1)
        line = code.count("\n", 0, match.start()) + 1
        types.append(Type(name, path, line, match.group(1), code[match.end() : end]))
    for match in re.finditer(r"\btypedef\b", code):
        end, depth = match.end(), 0
        while end < len(code) and (depth > 0 or code[end] != ";"):
            depth += (code[end] in "{(") - (code[end] in "})")
            end += 1
        text = code[match.end() : end]
        name, tag = typedef_name(text), re.match(r"\s*(struct|union|enum)\s+(\w+)", text)
        anonymous = "{" in text and not (tag and tag.group(2))
        if not anonymous and not (tag and tag.group(2) == name):
            types.append(Type(name, path, code.count("\n", 0, match.start()) + 1, "typedef", ""))
    return [found for found in types if found.name]


class Tree:
    """The files of the library, with their functions and types."""

    def __init__(self):
        self.text, self.code, self.counts, self.functions, self.types = {}, {}, {}, [], []
        for folder in FOLDERS:
            for path in sorted(glob.glob(folder + "/**/*", recursive=True)):
                if re.search(r"\.([ch]|[ch]pp)$", path):
                    self.read(path)
        self.by_name = collections.defaultdict(list)
        for function in self.functions:
            self.by_name[function.name].append(function)
        self.inside = [f for f in self.functions if f.file.split("/")[0] in CONTAINERS]
        names = {f.name for f in self.inside}
        self.calls = collections.defaultdict(set)
        for function in self.inside:
            self.calls[function.name] |= called(function) & names - {function.name}

    def read(self, path):
        """Reads a file."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        bare = blank(text)
        code = without_directives(bare)
        whole, left = text.split("\n")[:-1], bare.split("\n")[:-1]
        empty = sum(not line.strip() for line in whole)
        lines_of_code = sum(bool(line.strip()) for line in left)
        self.text[path], self.code[path] = text, code
        self.counts[path] = (len(whole), lines_of_code, len(whole) - empty - lines_of_code, empty)
        macros = dict(re.findall(r"(?m)^#\s*define\s+(\w+)\([^)\n]*\)((?:.*\\\n)*.*)", bare))
        for function in functions_of(path, code):
            used = [body for name, body in macros.items() if re.search(rf"\b{name}\s*\(", function.body)]
            self.functions.append(function._replace(body=" ".join([function.body] + used)))
        if path.endswith((".c", ".h")):
            self.types += types_of(path, code)

    def twice(self):
        """Returns the names of types that have definitions in two files, with the places."""
        places = collections.defaultdict(dict)
        for found in self.types:
            places[found.name].setdefault(found.file, f"{found.file}:{found.line}")
        return {name: sorted(found.values()) for name, found in sorted(places.items()) if len(found) > 1}

    def public(self):
        """Returns the operations that programs call."""
        declared = set()
        for path, code in self.code.items():
            if path.startswith("include/tern/") and "/detail/" not in path and path.endswith(".h"):
                declared |= set(re.findall(r"\b(tern_\w+)\s*\(", code))
        name = re.compile(rf"tern_\w*_(try_)?({VERBS})(_new|_many|_start|_timed|_alloc)*$")
        return {f.name for f in self.inside if f.name in declared and name.match(f.name)}


def called(function):
    """Returns the names that a function may call."""
    return set(re.findall(r"\b([A-Za-z_]\w*)\s*\(", function.body))


def compiled_twice(libraries, known):
    """Returns the names of the library's types that the debug information of libraries defines in two places."""
    places = collections.defaultdict(set)
    for library in libraries:
        command = ["readelf", "--debug-dump=info", "--dwarf-depth=2", library]
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        entry = re.compile(
            r"\(DW_TAG_(structure|union|enumeration)_type\)\n\s*<\w+>\s+DW_AT_name\s*:(?: \(.*?\):)? (\w+)"
            r"((?:\n\s*<\w+>\s+DW_AT_.*)*)"
        )
        count = 0
        for match in entry.finditer(output):
            fields = dict(re.findall(r"DW_AT_(decl_line|decl_column|byte_size)\s*: (\d+)", match.group(3)))
            count += 1
            if "decl_line" in fields and match.group(2) in known:
                places[match.group(2)].add(tuple(sorted(fields.items())))
        if count == 0:
            raise Wrong(f"{library} has no debug information; build it with -g")
    return sorted(name for name, found in places.items() if len(found) > 1)
