import type { WriteStream } from 'node:tty';
import { progressBlock, progressLine, type ShownProgress } from './progress-lines.js';

/** How often a line is written where nothing can be drawn over. */
const plainInterval_ms = 2_000;

/** Shows progress as it changes: drawn over in a terminal, line by line elsewhere. */
export class LiveView {
  private drawnLines = 0;
  private lastLine = '';
  private lastLineAt = -Infinity;
  /** The newest line when it came too soon after the one before. */
  private heldLine: string | undefined;

  constructor(private readonly output: Pick<WriteStream, 'write'> & { isTTY?: boolean; columns?: number }) {}

  /** Shows the newest figures. `title` stands before them, `footer` below them where they are drawn. */
  show(progress: ShownProgress, { title = '', footer = '' }: { title?: string; footer?: string } = {}): void {
    if (this.output.isTTY) this.draw([...progressBlock(progress), ...(footer ? [footer] : [])], title);
    else this.writeLine(progressLine(progress), title);
  }

  /** Leaves the newest figures in place: what is written next stands below them. */
  end(): void {
    if (this.heldLine !== undefined) this.output.write(this.heldLine);
    this.heldLine = undefined;
    this.drawnLines = 0;
    this.lastLineAt = -Infinity;
  }

  private draw(block: string[], title: string): void {
    const width = this.output.columns ?? 80;
    const lines = (title ? [title, ...block] : block).map((line) => line.slice(0, width - 1));
    // Up to the first drawn line, then each line anew, then whatever stood below.
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
