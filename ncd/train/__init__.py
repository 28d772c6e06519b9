"""Training: a task for each trainable system, one loop for all, and no page needed."""

from ncd.train.proofreader_weights import attention_weights as attention_weights
from ncd.train.task_data import Data as Data
from ncd.train.tasks import TASKS as TASKS
from ncd.train.tasks import Task as Task
from ncd.train.tasks import data as data
from ncd.train.tasks import task as task
from ncd.train.training_loop import Fit as Fit
from ncd.train.training_loop import Progress as Progress
from ncd.train.training_loop import answered as answered
from ncd.train.training_loop import check_room as check_room
from ncd.train.weight_files import noted as noted
from ncd.train.weight_files import read_weights as read_weights
from ncd.train.weight_files import shipped as shipped
from ncd.train.weight_files import written as written
