"""The service: indexes of a folder over HTTP. Needs the extra `service`; nothing here loads with `import ruledex`.

A supervisor binds the address and starts one writer and several workers. Workers map the artifacts and answer; every
change goes to the writer, which owns the journals. docs/service.md is the page for users.
"""
