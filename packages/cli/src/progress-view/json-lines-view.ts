import type { ShownProgress } from './progress-lines.js';

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
