"""What is written in words: names made visible, room on a page, counts, lists, and what paths say."""
