from toplist.engines.base import Engine as Engine
from toplist.engines.choice import as_engine as as_engine
from toplist.engines.dask import Dask as Dask
from toplist.engines.local import Local as Local
from toplist.engines.ray import Ray as Ray
from toplist.engines.spark import Spark as Spark
