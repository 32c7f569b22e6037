"""Languages of the skills, each a folder, and the matching of sentences. Imports from `skills` only `templates`."""
