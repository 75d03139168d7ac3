"""Recognition: what each column of a table is, and which one holds the ids of cases among all tables of a call.

`table` has the first look at values, `layouts` finds classes and confidences in one table, `objects` in nested columns,
and `case_ids` settles the ids. The names that tell are data, in `io.words`. What could be read in two ways is refused.
"""
