from pathlib import Path

import pytest
from link_swaps import run


@pytest.mark.parametrize("seed", range(4))
def test_nothing_outside_the_checkout_is_written_whatever_is_swapped_for_a_link(
    seed: int, tmp_path: Path
) -> None:  # S6.6
    run(tmp_path, swaps=150, seed=seed)
