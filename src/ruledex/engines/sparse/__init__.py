"""The engine `sparse`: one event at a time, upwards from its true literals."""
