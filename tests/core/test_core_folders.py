"""The user's cache."""

from pathlib import Path

from adducir.core.files import cache_folder
from adducir.indexes import jvm


def test_the_cache_is_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "adducir"
    assert cache_folder().is_dir()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder() == tmp_path / ".cache" / "adducir"


def test_there_may_be_none(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder() is None
    assert jvm.log_file().name == "java.log"
    monkeypatch.delenv("XDG_CACHE_HOME")

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None
