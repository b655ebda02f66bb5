/** A client of one of a coordinator's event streams, as a dashboard or `convoy watch` is one. */
export class WatchedStream implements AsyncDisposable {
  readonly #ending = new AbortController();
  readonly #reading: Promise<void>;
  /** Bytes received, and of the first complete event. */
  bytes = 0;
  firstEventBytes = 0;

  /** @param onEvent receives the data of every event, when it is given */
  constructor(url: string, onEvent?: (data: string) => void) {
    this.#reading = this.#read(url, onEvent).catch((error: unknown) => {
      if (!this.#ending.signal.aborted) throw error;
    });
  }

  async #read(url: string, onEvent?: (data: string) => void): Promise<void> {
    const response = await fetch(url, { signal: this.#ending.signal });
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of response.body ?? []) {
      this.bytes += (piece as Uint8Array).length;
      if (onEvent === undefined && this.firstEventBytes > 0) continue;
      text += decoder.decode(piece as Uint8Array, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        if (this.firstEventBytes === 0) this.firstEventBytes = event.length;
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) onEvent?.(data);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#reading;
  }
}
