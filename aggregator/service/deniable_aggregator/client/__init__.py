"""The typed HTTP client of the service, for commands, notebooks and reports.

service_client   one method for each address; answers are the Structs that the API encodes
connection       sends requests and reads answers
answers          an answer: the Struct, or the JSON text as the service sent it
remote           a client of a service that runs elsewhere
errors           the exceptions
"""
