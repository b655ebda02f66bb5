import type { WriteStream } from 'node:tty';
import { progressBlock, progressLine, type ShownProgress } from './progress-lines.js';

/** Interval of lines where redrawing is not possible. */
const plainInterval_ms = 2_000;

/** Shows changing progress: redrawn in a terminal, lines elsewhere. */
export class LiveView {
  private drawnLines = 0;
  private lastLine = '';
  private lastLineAt = -Infinity;
  /** The newest line, held back because it followed the previous one too soon. */
  private heldLine: string | undefined;

  constructor(private readonly output: Pick<WriteStream, 'write'> & { isTTY?: boolean; columns?: number }) {}

  /** Shows the newest progress, with `title` before it and `footer` below where it is redrawn. */
  show(progress: ShownProgress, { title = '', footer = '' }: { title?: string; footer?: string } = {}): void {
    if (this.output.isTTY) this.draw([...progressBlock(progress), ...(footer ? [footer] : [])], title);
    else this.writeLine(progressLine(progress), title);
  }

  /** Leaves the newest progress on screen; later output follows below. */
  end(): void {
    if (this.heldLine !== undefined) this.output.write(this.heldLine);
    this.heldLine = undefined;
    this.drawnLines = 0;
    this.lastLineAt = -Infinity;
  }

  private draw(block: string[], title: string): void {
    const width = this.output.columns ?? 80;
    const lines = (title ? [title, ...block] : block).map((line) => line.slice(0, width - 1));
    // Moves up to the first line, rewrites each line, then clears the rest.
    const up = this.drawnLines > 0 ? `\u001b[${this.drawnLines}A` : '';
    this.output.write(`${up}${lines.map((line) => `\u001b[2K${line}\n`).join('')}\u001b[J`);
    this.drawnLines = lines.length;
  }

  private writeLine(line: string, title: string): void {
    const now = performance.now();
    const text = `${title ? `${title}: ` : ''}${line}\n`;
    const isNew = line !== this.lastLine;
    const isSoon = now - this.lastLineAt < plainInterval_ms;
    this.heldLine = isNew && isSoon ? text : undefined;
    if (!isNew || isSoon) return;
    this.lastLine = line;
    this.lastLineAt = now;
    this.output.write(text);
  }
}
