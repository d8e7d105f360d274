"""The Messages API as shapes and bytes: JSON text, server-sent events, replies, blocks. Pure: no I/O."""

from turnkeeper.wire.blocks import CLIENT_CALL, is_blank_text, is_server_call, server_result_for, text_of
from turnkeeper.wire.json import decode, encode, fold_surrogates, raw_elements, raw_members, sendable
from turnkeeper.wire.reply import MalformedReplyError, WireReply, read_reply
from turnkeeper.wire.sse import Decoder, ServerEvent
from turnkeeper.wire.stream import StreamEnd, assemble

__all__ = (
    "CLIENT_CALL",
    "Decoder",
    "MalformedReplyError",
    "ServerEvent",
    "StreamEnd",
    "WireReply",
    "assemble",
    "decode",
    "encode",
    "fold_surrogates",
    "is_blank_text",
    "is_server_call",
    "raw_elements",
    "raw_members",
    "read_reply",
    "sendable",
    "server_result_for",
    "text_of",
)
