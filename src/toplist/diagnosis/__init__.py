"""Why a score is what it is: reliability, its parts, and what is odd about lists."""
