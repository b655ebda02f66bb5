import type { WriteStream } from 'node:tty';
import { coloured } from './colours.js';
import { progressBlock, progressLine, type ShownProgress } from './progress-lines.js';

/** Interval of lines where redrawing is not possible. */
const plainInterval_ms = 2_000;

/** Columns from which lines that continue are indented. */
const minWidthOfIndent = 30;

/** Shows changing progress: redrawn in a terminal, lines elsewhere. */
export class LiveView {
  private drawn: readonly string[] = [];
  private lastLine = '';
  private lastLineAt = -Infinity;
  /** The newest line, held back because it followed the previous one too soon. */
  private heldLine: string | undefined;

  constructor(
    private readonly output: Pick<WriteStream, 'write'> & {
      isTTY?: boolean;
      columns?: number | undefined;
      rows?: number | undefined;
    },
  ) {}

  /** Shows the newest progress, with `title` before it and `footer` below where it is redrawn. */
  show(progress: ShownProgress, { title = '', footer = '' }: { title?: string; footer?: string } = {}): void {
    if (this.output.isTTY && process.env['TERM'] !== 'dumb')
      this.draw([...(title ? [title] : []), ...progressBlock(progress)], footer);
    else this.writeLine(progressLine(progress), title);
  }

  /** Leaves the newest progress on screen; later output follows below. */
  end(): void {
    if (this.heldLine !== undefined) this.output.write(this.heldLine);
    this.heldLine = undefined;
    this.drawn = [];
    this.lastLineAt = -Infinity;
  }

  /** Long lines wrap, since a warning that is cut leaves out what to do. The footer is shown whatever has no room. */
  private draw(block: string[], footer: string): void {
    // Terminals without a known size report 0.
    const width = this.output.columns || 80;
    const rowsMax = Math.max((this.output.rows || 24) - 1, 1);
    const rowsOf = (line: string): string[] => wrapped(line, Math.max(width - 1, 1));
    const last = footer ? rowsOf(footer) : [];
    const first = block.flatMap(rowsOf).slice(0, Math.max(rowsMax - last.length, 1));
    const lines = [...first, ...last].slice(0, rowsMax);
    // A terminal that became narrower has wrapped the drawn lines. The cursor cannot move above its first row.
    const drawnRows = this.drawn.reduce((rows, line) => rows + Math.max(Math.ceil(line.length / width), 1), 0);
    // Moves up to the first line, rewrites each line, then clears the rest.
    const up = drawnRows > 0 ? `\u001b[${Math.min(drawnRows, rowsMax)}A` : '';
    this.output.write(`${up}${lines.map((line) => `\u001b[2K${coloured(line, this.output)}\n`).join('')}\u001b[J`);
    this.drawn = lines;
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

/** Wraps at spaces where there are some, and indents what continues. */
function wrapped(line: string, width: number): string[] {
  const rows: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const at = space <= 0 || rest.slice(0, space).trim() === '' ? width : space;
    rows.push(rest.slice(0, at));
    const indent = width > minWidthOfIndent ? '    ' : '';
    rest = indent + rest.slice(at).trimStart();
  }
  return [...rows, rest];
}

/** Writes each changed progress as one line of JSON. */
export class JsonLinesView {
  private lastLine = '';

  constructor(private readonly output: { write(text: string): unknown }) {}

  show(progress: ShownProgress): void {
    const line = `${JSON.stringify(progress)}\n`;
    if (line !== this.lastLine) this.output.write(line);
    this.lastLine = line;
  }

  end(): void {
    this.lastLine = '';
  }
}
