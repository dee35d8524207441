"""Vector environments: thousands of simulated robots that learn.

Row           one environment, as the functions of an environment see it
VectorEnv     equal environments of one simulation, for gymnasium (also `linkwork.VectorEnv`)
SingleEnv     one of them as a `gymnasium.Env`
READY         the ready environments, by name; importing this package registers them
"""

from linkwork.errors import missing_package

try:
    from linkwork.envs.registry import READY as READY
    from linkwork.envs.registry import register
    from linkwork.envs.row import Row as Row
    from linkwork.envs.single import SingleEnv as SingleEnv
    from linkwork.envs.vector_env import VectorEnv as VectorEnv
except ModuleNotFoundError as error:
    if error.name != "gymnasium":
        raise
    raise missing_package("linkwork.envs", "gymnasium") from error

register()
