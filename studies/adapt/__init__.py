"""One adapter per data set: it reads the original file and writes what `toplist compare` takes."""

from studies.adapt import cifar10, cifar10h, cifar10s, flusight, langid, news20, soccer
from studies.adapt.study import Study

STUDIES: dict[str, Study] = {
    module.__name__.rpartition(".")[2]: Study(module.FILES, module.adapt, module.BOARDS)
    for module in (cifar10, cifar10h, cifar10s, news20, soccer, flusight, langid)
}

__all__ = ["STUDIES", "Study"]
