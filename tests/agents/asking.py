"""Requests to the model server as an agent makes them, for the server's own tests."""

import http.client
import json

from model_server import ModelServer
from prompt_blocks import JsonObject, as_object


def send(server: ModelServer, method: str, path: str, data: bytes = b"") -> tuple[int, str]:
    """Return the status and the text of the answer."""
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=10)
    headers = {"x-api-key": "secret", "content-type": "application/json", "thread-id": "a thread"}
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def post(server: ModelServer, value: object, path: str = "/v1/messages") -> tuple[int, str]:
    """Send a JSON value, or bytes as they are."""
    return send(server, "POST", path, value if isinstance(value, bytes) else json.dumps(value).encode())


def ask(server: ModelServer, value: JsonObject, path: str = "/v1/messages") -> JsonObject:
    """Return the answer to a request that must succeed."""
    status, text = post(server, value, path)
    assert status == 200, text
    return as_object(json.loads(text))
