import type { WriteStream } from 'node:tty';
import type { ComparisonProgress } from '@convoy/instance/process/comparison';
import { comparisonLine } from './verify-lines.js';

/** Interval of redrawing a terminal, and of writing lines elsewhere. */
const drawInterval_ms = 500;
const lineInterval_ms = 10_000;

/** Shows the progress of a comparison: one redrawn line in a terminal, lines elsewhere, or JSON. */
export class ComparisonView {
  readonly #timer: NodeJS.Timeout;
  #before = { at_ms: performance.now(), bytes: 0 };
  #rate = 0;

  constructor(
    private readonly output: Pick<WriteStream, 'write'> & { isTTY?: boolean; columns?: number },
    private readonly progress: () => ComparisonProgress,
    private readonly asJson: boolean,
  ) {
    this.#before.bytes = progress().totals.bytes;
    this.#timer = setInterval(() => this.#show(), this.#drawn ? drawInterval_ms : lineInterval_ms);
  }

  /** Ends the display and clears the terminal's line. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#drawn) this.output.write('\r\u001b[2K');
  }

  get #drawn(): boolean {
    return this.output.isTTY === true && !this.asJson;
  }

  #show(): void {
    const progress = this.progress();
    this.#measure(progress.totals.bytes);
    if (this.asJson)
      this.output.write(
        `${JSON.stringify({ event: 'progress', ...progress, bytesPerSecond: Math.round(this.#rate) })}\n`,
      );
    else if (this.#drawn)
      this.output.write(`\r\u001b[2K${comparisonLine(progress, this.#rate).slice(0, (this.output.columns ?? 80) - 1)}`);
    else this.output.write(`${comparisonLine(progress, this.#rate)}\n`);
  }

  /** The stats change when the comparison records a part, so the rate is measured between such moments. */
  #measure(bytes: number): void {
    const now_ms = performance.now();
    if (bytes === this.#before.bytes) return;
    this.#rate = ((bytes - this.#before.bytes) * 1000) / (now_ms - this.#before.at_ms);
    this.#before = { at_ms: now_ms, bytes };
  }
}
