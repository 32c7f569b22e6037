"""`repartee init`: asks the questions of assistant/first_run in the terminal."""
