"""From files and frames to columns of lists: find, read, recognise, align. Nothing here knows a score."""
