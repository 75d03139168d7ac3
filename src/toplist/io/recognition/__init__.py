"""Recognition: what each column of a table is, and which one holds the ids of cases among all tables of a call.

`words` has the names as data, `table` the first look at values, `layout` finds classes and confidences in one table,
`objects` in nested columns, and `case_ids` settles the ids. What could be read in two ways is refused.
"""
