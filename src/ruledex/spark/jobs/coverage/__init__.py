"""The job that counts how often each rule is true."""
