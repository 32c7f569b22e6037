"""Lists and notes of the user: their items, the sentences about them, and the answers. Imports from `skills` only."""
