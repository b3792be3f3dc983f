"""Scored intervals and the best k of them: ranked-pubsub2008's structures, and the Threshold Algorithm over them."""
