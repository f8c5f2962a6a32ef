"""Numbers of things in words: one row, 40,808 rows."""


def counted(n: float, thing: str) -> str:
    """Return how many there are of something, exactly; weights may make that a fraction.

    >>> counted(1, "row"), counted(40808.0, "row"), counted(2.25, "row")
    ('1 row', '40,808 rows', '2.25 rows')
    """
    number = f"{n:,.0f}" if n == round(n) else f"{n:,.6g}"
    return f"{number} {thing}{'' if n == 1 else 's'}"
