"""Pictures of commands are small here; tests/unit/output looks at their pixels."""

import pytest

from muphy_lb.output.pictures import vessel, wall

N_PIXELS = 200


@pytest.fixture(autouse=True, scope="module")
def _small_pictures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vessel, "N_RENDER_PIXELS", N_PIXELS)
        patch.setattr(wall, "N_PIXELS", N_PIXELS)
        yield
