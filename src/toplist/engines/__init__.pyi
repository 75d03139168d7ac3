from toplist.engines.base import Engine as Engine
