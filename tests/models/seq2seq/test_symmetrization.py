import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_seqzoo.models import symmetrize
from tests.properties import examples

# The links 0-0, 1-1 and 2-3 are in both directions. 2-2 and 3-3 are beside links, each with a free
# word. 0-4 and 4-0 have a free word but no link beside them, 5-5 has two; 1-0 has none.
LINKS = [(0, 0), (1, 1), (2, 2), (2, 3), (0, 4), (5, 5)]
REVERSE = [(0, 0), (1, 1), (3, 2), (3, 3), (0, 4), (0, 1)]
GROWN = [(0, 0), (1, 1), (2, 2), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    "method, expected",
    [
        ("intersection", [(0, 0), (1, 1), (2, 3)]),
        ("grow-diag", GROWN),
        ("grow-diag-final-and", [*GROWN, (5, 5)]),
        ("grow-diag-final", [(0, 0), (4, 0), *GROWN[1:], (0, 4), (5, 5)]),
        ("union", [(0, 0), (1, 0), (4, 0), *GROWN[1:], (0, 4), (5, 5)]),
    ],
)
def test_worked_example(method, expected):
    assert symmetrize(LINKS, REVERSE, method) == expected


def test_the_order_of_visits_decides():
    # 2-2 grows from 1-1, and gives 3-1 its free word before 3-3 is reached.
    found = symmetrize([(1, 1), (2, 2), (2, 3)], [(1, 1), (1, 3), (3, 2), (3, 3)], "grow-diag")
    assert found == [(1, 1), (3, 1), (2, 2), (2, 3)]


def test_arguments():
    assert symmetrize([], []) == []
    assert symmetrize(iter([(1, 0)]), iter([])) == [(1, 0)]
    assert symmetrize([(1, 0)], [(0, 1)], "intersection") == [(1, 0)]  # the other way round
    with pytest.raises(ValueError, match="`method` must be one of intersection.*got 'both'"):
        symmetrize([], [], "both")


def plain(forward, backward, final):
    """The program of Koehn, Och and Marcu as Moses documents it, over all cells."""
    cells = [(s, t) for t in range(7) for s in range(7)]
    found = forward & backward

    def free(s, t):
        return s not in {a for a, _ in found}, t not in {b for _, b in found}

    near = [(0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)]
    before = None
    while before != len(found):
        before = len(found)
        for s, t in cells:
            if (s, t) in found:
                for ds, dt in near:
                    new = s + ds, t + dt
                    if any(free(*new)) and new in forward | backward:
                        found.add(new)
    for links in (forward, backward):
        for new in cells:
            if final is not None and new in links and final(free(*new)):
                found.add(new)
    return found


links = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


@examples(100)
@given(forward=links, backward=links)
def test_each_method_lies_between_intersection_and_union(forward, backward):
    reverse = [(t, s) for s, t in backward]
    found = {
        method: symmetrize(forward, reverse, method)
        for method in (
            "intersection",
            "union",
            "grow-diag",
            "grow-diag-final",
            "grow-diag-final-and",
        )
    }
    for links in found.values():
        assert links == sorted(set(links), key=lambda link: link[::-1])
    found = {method: set(links) for method, links in found.items()}
    assert found["intersection"] == forward & backward
    assert found["union"] == forward | backward
    for method in ("grow-diag-final", "grow-diag-final-and"):
        assert found["intersection"] <= found["grow-diag"] <= found[method] <= found["union"]
    assert found["grow-diag"] == plain(forward, backward, None)
    assert found["grow-diag-final"] == plain(forward, backward, any)
    assert found["grow-diag-final-and"] == plain(forward, backward, all)
    covered = {s for s, _ in found["union"]}, {t for _, t in found["union"]}
    final = found["grow-diag-final"]
    assert ({s for s, _ in final}, {t for _, t in final}) == covered
