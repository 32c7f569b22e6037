"""Writers of files of the repository that tests compare: tables, settings, manifests."""
