/* How long the last piece of an answer was ago, shown once that is long. */

const SHOWN_AFTER_SECONDS = 10;

export class WaitingTime {
  constructor(element) {
    this.element = element;
    this.timer = null;
  }

  /** Count from now on. */
  start() {
    this.since = Date.now();
    this.element.hidden = true;
    this.timer ??= setInterval(() => this.show(), 1_000);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.element.hidden = true;
  }

  show() {
    const seconds = Math.round((Date.now() - this.since) / 1_000);
    this.element.hidden = seconds < SHOWN_AFTER_SECONDS;
    this.element.textContent = `Waiting for the model for ${seconds} seconds`;
    if (!this.element.isConnected) this.stop();
  }
}
