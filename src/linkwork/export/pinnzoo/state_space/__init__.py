"""Functions of the state of a robot as one vector, x = [q; v], with derivatives by it.

    space = StateSpace(kd, bodies=("l_sole", "r_sole"))
    space.kernel("forward_dynamics_deriv")(x, tau)

The names are those of PinnZoo. `linkwork.compat.pinnzoo` offers them to Python, and
`linkwork.export(..., pinnzoo=True)` to C.
"""

from linkwork.export.pinnzoo.state_space.arranged import arranged as arranged
from linkwork.export.pinnzoo.state_space.arranged import check_joints as check_joints
from linkwork.export.pinnzoo.state_space.names import config_names as config_names
from linkwork.export.pinnzoo.state_space.names import joint_labels as joint_labels
from linkwork.export.pinnzoo.state_space.names import velocity_names as velocity_names
from linkwork.export.pinnzoo.state_space.space import ORIENTATIONS as ORIENTATIONS
from linkwork.export.pinnzoo.state_space.space import Orientation as Orientation
from linkwork.export.pinnzoo.state_space.space import StateSpace as StateSpace
