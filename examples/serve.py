"""Serve a transformers model on this machine, with the interface of OpenAI's chat completions.

    python examples/serve.py grpo/model --port 8000

answers POST /v1/chat/completions and GET /v1/models. The server is for experiments: it answers one
request at a time, with a single completion, and does not stream.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def said(content: Any) -> str:
    """Return the text of a message, which may consist of parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class Chat:
    """A model with its tokenizer, which answers one request at a time."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.resolve().name
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True)
        self.lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request. Raises an exception if the request is wrong."""
        request = {key: value for key, value in request.items() if value is not None}
        messages = [{"role": m["role"], "content": said(m["content"])} for m in request["messages"]]
        most = int(request.get("max_completion_tokens") or request.get("max_tokens") or 64)
        way: dict[str, Any] = {"do_sample": False}
        if (temperature := float(request.get("temperature", 1.0))) > 0:
            top = float(request.get("top_p", 1.0))
            way = {"do_sample": True, "temperature": temperature, "top_p": top, "top_k": 0}
        with self.lock, torch.inference_mode():
            prompt = self.tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
            read = prompt["input_ids"].shape[1]
            room = self.model.config.max_position_embeddings - read
            if room < 1:
                raise ValueError(f"the messages have {read} tokens, which is too long")
            ids = self.model.generate(**prompt, max_new_tokens=max(1, min(most, room)), **way)
            new = ids[0, read:].tolist()
            text = self.tokenizer.decode(new, skip_special_tokens=True)
        message = {"role": "assistant", "content": text}
        reason = "stop" if new[-1] == self.tokenizer.eos_token_id else "length"
        used = {"prompt_tokens": read, "completion_tokens": len(new)}
        return {
            "id": f"chatcmpl-{time.time_ns()}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.name,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {**used, "total_tokens": sum(used.values())},
        }


class Handler(BaseHTTPRequestHandler):
    """Reads a request, and writes JSON."""

    chat: Chat
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.rstrip("/") != "/v1/models":
            return self._send(404, {"error": {"message": f"there is no {self.path}"}})
        self._send(200, {"object": "list", "data": [{"id": self.chat.name, "object": "model"}]})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(length)) if re.fullmatch("[0-9]{1,6}", length) else b""
        self.close_connection = not body  # an unread body must not be taken for the next request
        if self.path.rstrip("/") != "/v1/chat/completions":
            return self._send(404, {"error": {"message": f"there is no {self.path}"}})
        try:
            answer = self.chat.answer(json.loads(body))
        except Exception as error:
            return self._send(400, {"error": {"message": f"{type(error).__name__}: {error}"}})
        self._send(200, answer)

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log no requests."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder with a model and its tokenizer")
    parser.add_argument("--port", type=int, default=8000, help="0 for any that is free")
    asked = parser.parse_args()
    Handler.chat = Chat(asked.model)
    server = ThreadingHTTPServer(("127.0.0.1", asked.port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
