"""Tables on wide and narrow screens."""

from __future__ import annotations

from turnkeeper.cli.tables import Column, draw

COLUMNS = (
    Column("id"),
    Column("price", right=True),
    Column("since", rank=1),
    Column("title", stretch="cut", least=8),
)
ROWS = (("a-1", "1,000.00", "2026-11-30", "Сколько стоит доставка?"), ("b", "2.50", "2026-11-29", "北京市天气"))


def test_without_a_screen_nothing_is_cut() -> None:
    assert draw(COLUMNS, ROWS, width=None, colored=False) == (
        "id      price  since       title\n"
        "a-1  1,000.00  2026-11-30  Сколько стоит доставка?\n"
        "b        2.50  2026-11-29  北京市天气\n"
    )


def test_what_is_left_of_the_screen_is_for_the_text_that_may_be_cut() -> None:
    assert draw(COLUMNS, ROWS, width=36, colored=False) == (
        "id      price  since       title\na-1  1,000.00  2026-11-30  Сколько…\nb        2.50  2026-11-29  北京市天…\n"
    )


def test_a_column_without_room_is_left_out_and_numbers_stay_whole() -> None:
    assert draw(COLUMNS, ROWS, width=24, colored=False) == (
        "id      price  title\na-1  1,000.00  Сколько…\nb        2.50  北京市天…\n"
    )


def test_a_text_may_go_on_below() -> None:
    columns = (Column("id"), Column("notes", stretch="wrap", least=5))
    rows = [["a", "one two three"], ["b", "Donaudampfschiff 北京市天气"]]
    assert draw(columns, rows, width=10, colored=False) == (
        "id  notes\na   one\n    two\n    three\nb   Donaud\n    ampfsc\n    hiff\n    北京市\n    天气\n"
    )


def test_cells_are_text_and_never_markup_and_the_heading_is_bold() -> None:
    drawn = draw((Column("x"),), [["[red]:smile:[/red]"]], width=None, colored=True)
    assert drawn == "\x1b[1mx\x1b[0m\n[red]:smile:[/red]\n"
