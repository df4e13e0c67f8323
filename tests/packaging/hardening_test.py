#!/usr/bin/python3
"""The programs are position-independent, resolve every symbol before they start and make that table read-only, guard their
stacks and check the calls that the C library can check: read from the ELF files themselves.
Usage: hardening_test.py PROGRAM..."""
import struct
import sys

PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 2, 0x6474E551, 0x6474E552
DT_NULL, DT_FLAGS, DT_FLAGS_1 = 0, 30, 0x6FFFFFFB
ET_DYN, PF_X, DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 3, 1, 8, 1, 0x08000000


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:6] == b"\x7fELF\x02\x01", f"{path}: a 64-bit little-endian ELF file expected"
        self.type = struct.unpack_from("<H", self.data, 16)[0]
        (self.programs,), (self.sections,) = struct.unpack_from("<Q", self.data, 32), struct.unpack_from("<Q", self.data, 40)
        self.program_size, self.program_count, self.section_size, self.section_count, _ = struct.unpack_from("<5H", self.data, 54)

    def segments(self):
        for i in range(self.program_count):
            kind, flags, offset, _, _, size = struct.unpack_from("<IIQQQQ", self.data, self.programs + i * self.program_size)
            yield kind, flags, offset, size

    def dynamic(self):
        for kind, _, offset, size in self.segments():
            if kind == PT_DYNAMIC:
                for at in range(offset, offset + size, 16):
                    tag, value = struct.unpack_from("<QQ", self.data, at)
                    if tag == DT_NULL:
                        return
                    yield tag, value

    def imports(self):
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, self.sections + i * self.section_size) for i in range(self.section_count)]
        names = set()
        for _, kind, _, _, offset, size, link, _, _, entry in headers:
            if kind != 11:  # SHT_DYNSYM
                continue
            strings = headers[link][4]
            for at in range(offset, offset + size, entry):
                name, _, _, section = struct.unpack_from("<IBBH", self.data, at)
                if section == 0:
                    begin = strings + name
                    names.add(self.data[begin:self.data.index(b"\0", begin)].decode())
        return names


def faults(path):
    elf = Elf(path)
    flags = dict(elf.dynamic())
    segments = {kind: bits for kind, bits, _, _ in elf.segments()}
    imports = elf.imports()
    if elf.type != ET_DYN or not flags.get(DT_FLAGS_1, 0) & DF_1_PIE:
        yield "no PIE"
    if PT_GNU_RELRO not in segments:
        yield "no RELRO"
    if not (flags.get(DT_FLAGS, 0) & DF_BIND_NOW and flags.get(DT_FLAGS_1, 0) & DF_1_NOW):
        yield "symbols are bound late, so RELRO is partial"
    if segments.get(PT_GNU_STACK, PF_X) & PF_X:
        yield "an executable stack"
    if "__stack_chk_fail" not in imports:
        yield "no stack protector"
    if not any(name.startswith("__") and name.endswith("_chk") for name in imports):
        yield "no checked calls: _FORTIFY_SOURCE is off"


found = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(path)]
print("\n".join(found))
sys.exit(bool(found) or len(sys.argv) < 2)
