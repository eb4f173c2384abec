"""One file format per module: facts out, minimal text edits in.

Every module takes a `fixaudit.text.Text` (or its content), returns frozen values and tuples of `fixaudit.text.Edit`,
and knows nothing of rules, snapshots, git or relations. What cannot be read or edited is a returned `Problem`.
"""
