"""Official clients that run out of time, or whose caller cancels them: soon after, nothing of their request is left."""

import asyncio

import anthropic
import openai
import pytest
from serving import wait_for

HELLO = [{"role": "user", "content": "What is the capital of France?"}]
# Longer than any client here waits.
LONG = {"model": "default", "max_tokens": 1900}
ENDLESS = {"temperature": 0, "ignore_eos": True}


def openai_client(server, kind, **options):
    return kind(base_url=f"{server.url}/v1", api_key="none", max_retries=0, **options)


def anthropic_client(server, kind, **options):
    return kind(base_url=server.url, api_key="none", max_retries=0, **options)


def chat(client):
    return client.chat.completions.create(messages=HELLO, extra_body=ENDLESS, **LONG)


def completion(client):
    return client.completions.create(prompt="Once", extra_body=ENDLESS, **LONG)


def response(client):
    return client.responses.create(model="default", input="Once", max_output_tokens=1900, extra_body=ENDLESS)


def message(client):
    return client.messages.create(messages=HELLO, extra_body=ENDLESS, **LONG)


CALLS = [(openai, openai_client, chat), (openai, openai_client, completion), (openai, openai_client, response), (anthropic, anthropic_client, message)]
KINDS = {openai: (openai.OpenAI, openai.AsyncOpenAI), anthropic: (anthropic.Anthropic, anthropic.AsyncAnthropic)}


def running(server):
    return server.get("/health")[1]["running"]


@pytest.mark.parametrize("library, connect, call", CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_timeouts(smollm2_server, library, connect, call):
    with pytest.raises(library.APITimeoutError):
        call(connect(smollm2_server, KINDS[library][0], timeout=0.5))
    smollm2_server.wait_idle()


@pytest.mark.parametrize("library, connect, call", CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_cancelled_tasks(smollm2_server, library, connect, call):
    async def leave():
        async with connect(smollm2_server, KINDS[library][1], timeout=120) as client:
            task = asyncio.create_task(call(client))
            await asyncio.to_thread(wait_for, lambda: running(smollm2_server), "the request to run")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(leave())
    smollm2_server.wait_idle()
