"""Folders of machine code that somebody planted: Numba's index files are pickles, so none is used."""

import os
import pathlib
import sys
import tempfile

import pytest

from mapdp.compiled import cache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights are of another kind there")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a folder for machine code; all other places for it are in folders of this test."""
    monkeypatch.setattr(cache, "_SOURCE", tmp_path / "source")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    found = tmp_path / "home"
    found.mkdir(mode=0o700)
    return found


def planted(home):
    return home / f"mapdp-{cache.fingerprint()}"


def chosen(home):
    """Return the folder that is chosen where `NUMBA_CACHE_DIR` names this one."""
    found = cache.cache_folder(str(home))
    return None if found is None else pathlib.Path(found)


def test_a_folder_of_our_own_is_used(home):
    assert chosen(home) == planted(home)
    assert planted(home).stat().st_mode & 0o777 == 0o700
    assert chosen(home) == planted(home)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o701])
def test_a_folder_that_is_open_to_others_is_passed_over(mode, home):
    planted(home).mkdir()
    planted(home).chmod(mode)
    assert not chosen(home).is_relative_to(home)


def test_a_link_is_passed_over(home, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    planted(home).symlink_to(tmp_path / "elsewhere")
    assert not chosen(home).is_relative_to(home)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_link_to_nothing_is_passed_over(home, tmp_path):
    planted(home).symlink_to(tmp_path / "nothing")
    assert not chosen(home).is_relative_to(home)
    assert not (tmp_path / "nothing").exists()


def test_a_folder_of_somebody_else_is_passed_over(home, monkeypatch):
    planted(home).mkdir(mode=0o700)
    somebody = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: somebody)
    assert chosen(home) is None  # whatever is made here is not theirs


def test_a_home_that_others_can_write_to_is_passed_over(home):
    home.chmod(0o777)
    assert not chosen(home).is_relative_to(home)
    assert not list(home.iterdir())  # nor is anything made there, or swept away


def test_a_home_in_a_folder_that_others_can_write_to_is_passed_over(home):
    """They could rename the home, and put another in its place after we have looked."""
    home.chmod(0o777)
    (home / "inner").mkdir(mode=0o700)
    assert not chosen(home / "inner").is_relative_to(home)
    home.chmod(0o1777)  # as /tmp is: nobody can rename what belongs to others
    assert chosen(home / "inner") == planted(home / "inner")


def test_a_home_that_is_a_link_is_followed_once(home, tmp_path):
    """Whoever made the link could turn it later."""
    link = tmp_path / "link"
    link.symlink_to(home)
    assert chosen(link) == planted(home)


def test_files_of_the_planter_are_not_swept_away_with_ours(home):
    for number in range(6):
        (home / f"mapdp-{number:016x}").mkdir()
    home.chmod(0o777)
    chosen(home)
    assert len(list(home.iterdir())) == 6
