"""Several endpoints as one model: who is asked when, and who answers in place of whom."""
