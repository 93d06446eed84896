"""What is computed: the punctuator, window scopes, operators, the replay, the command line."""
