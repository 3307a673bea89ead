"""Record docs/images/chat.webp: the chat of a fresh `make run` in Chromium, frame by frame.

python -m tools.record_chat http://127.0.0.1:8001 admin <its password>
"""

import base64
import struct
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tools.chromium import find_chromium

FILE = Path(__file__).resolve().parent.parent / "docs" / "images" / "chat.webp"
SIZE = {"width": 1280, "height": 800}
LAST_FRAME_MS = 3_000
SHORTEST_FRAME_MS = 30
KEYS_A_FRAME = 4
EARLIER = ("What could go wrong in the Website relaunch?", "Write a status note for the Website relaunch.")
MESSAGES = ("Find a free hour next week.", "Schedule “Find a venue” into my next free two hours.")
END = ".answer:is([data-state=stop], [data-state=error])"

# Returns the part of a screenshot that differs from the one before as WebP, null if nothing does. Browsers encode
# pictures, but no animations.
ENCODE_CHANGE = """async ([before, after]) => {
    const draw = async (png) => {
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
        const canvas = new OffscreenCanvas(image.width, image.height);
        canvas.getContext("2d", { willReadFrequently: true }).drawImage(image, 0, 0);
        return canvas;
    };
    const read = (canvas) => {
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Uint32Array(pixels.data.buffer);
    };
    const canvas = await draw(after);
    const { width, height } = canvas;
    let [left, top, right, bottom] = [0, 0, width, height];
    if (before) {
        const [old, now] = [read(await draw(before)), read(canvas)];
        [left, top, right, bottom] = [width, height, 0, 0];
        now.forEach((pixel, at) => {
            if (pixel === old[at]) return;
            const [x, y] = [at % width, Math.floor(at / width)];
            [left, top] = [Math.min(left, x), Math.min(top, y)];
            [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
        });
        if (!right) return null;
        [left, top] = [left - (left % 2), top - (top % 2)]; // the format has even offsets only
    }
    const part = new OffscreenCanvas(right - left, bottom - top);
    part.getContext("2d").drawImage(canvas, -left, -top);
    const blob = await part.convertToBlob({ type: "image/webp", quality: 0.82 });
    const text = Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join("");
    return { left, top, width: part.width, height: part.height, image: btoa(text) };
}"""


class Recorder:
    """Takes screenshots of a page, each with its time."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.shots: list[tuple[float, str]] = []

    def take(self) -> None:
        """Take one now."""
        png = self._page.screenshot(caret="hide")
        self.shots.append((time.monotonic(), base64.b64encode(png).decode()))

    def wait(self, seconds: float) -> None:
        """Leave the viewer time to read."""
        self._page.wait_for_timeout(seconds * 1000)
        self.take()

    def follow_answer(self, number: int) -> None:
        """Record until that many answers are complete."""
        while self._page.locator(END).count() < number:
            self.take()
        self.take()


def main(url: str, name: str, password: str) -> None:
    """Record the conversation and write the file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium() or None, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, base_url=url)  # type: ignore[arg-type]
        sign_in(page, name, password)
        shots = record_conversation(page)
        content = build_webp(encode_frames(browser.new_page(), shots))
        browser.close()
    FILE.write_bytes(content)
    print(f"{FILE}: {len(content) // 1024} KiB")


def sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/chat/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/")


def record_conversation(page: Page) -> list[tuple[float, str]]:
    for message in EARLIER:  # for the sidebar
        page.goto("/chat/")
        page.locator(".suggestion", has_text=message).click()
        page.wait_for_selector(END)
    page.goto("/chat/")
    page.wait_for_timeout(500)
    recorder = Recorder(page)
    recorder.take()
    recorder.wait(1.2)
    suggestion = page.locator(".suggestion", has_text="Team offsite")
    suggestion.hover()
    recorder.wait(0.5)
    suggestion.click()
    page.mouse.move(900, 60)
    recorder.follow_answer(1)
    recorder.wait(1.8)
    for number, message in enumerate(MESSAGES, start=2):
        for start in range(0, len(message), KEYS_A_FRAME):
            page.keyboard.type(message[start : start + KEYS_A_FRAME])
            recorder.take()
        page.keyboard.press("Enter")
        recorder.follow_answer(number)
        recorder.wait(1.6)
    page.locator(".card summary").last.click()
    recorder.wait(0.3)
    recorder.wait(0.1)
    return recorder.shots


def encode_frames(page: Page, shots: list[tuple[float, str]]) -> list[dict[str, Any]]:
    """Return the changes as {left, top, width, height, image, ms}."""
    frames: list[dict[str, Any]] = []
    before = ("", 0.0)
    for at, png in shots:
        frame = page.evaluate(ENCODE_CHANGE, [before[0], png])
        if frame is None:
            continue
        if frames:
            frames[-1]["ms"] = max(SHORTEST_FRAME_MS, round((at - before[1]) * 1000))
        frames.append(frame)
        before = (png, at)
    frames[-1]["ms"] = LAST_FRAME_MS
    return frames


def build_webp(frames: list[dict[str, Any]]) -> bytes:
    """Return an animation that repeats (https://developers.google.com/speed/webp/docs/riff_container)."""
    has_animation, keeps_pixels = 0x02, 0x02
    size = _build_uint24(SIZE["width"] - 1) + _build_uint24(SIZE["height"] - 1)
    body = _build_chunk(b"VP8X", bytes([has_animation, 0, 0, 0]) + size)
    body += _build_chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0))  # on white, for ever
    for frame in frames:
        numbers = (frame["left"] // 2, frame["top"] // 2, frame["width"] - 1, frame["height"] - 1, frame["ms"])
        head = b"".join(map(_build_uint24, numbers)) + bytes([keeps_pixels])
        body += _build_chunk(b"ANMF", head + _read_bitstream(base64.b64decode(frame["image"])))
    return _build_chunk(b"RIFF", b"WEBP" + body)


def _read_bitstream(webp: bytes) -> bytes:
    """Return the chunks of a picture that hold its pixels."""
    chunks, at = b"", 12
    while at < len(webp):
        name, size = webp[at : at + 4], struct.unpack_from("<I", webp, at + 4)[0]
        if name in (b"VP8 ", b"VP8L", b"ALPH"):
            chunks += _build_chunk(name, webp[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    return chunks


def _build_chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _build_uint24(number: int) -> bytes:
    return struct.pack("<I", number)[:3]


if __name__ == "__main__":
    main(*sys.argv[1:])
