import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A line has some hundred bytes; a test of minutes writes a few thousand. */
const linesMax = 20_000;

/** The logs of instances in the process of a test: in memory, and in a folder once a test fails. */
export class ProcessLogs {
  readonly #lines = new Map<string, string[]>();
  #opened = 0;

  /**
   * Where a new log's lines go.
   * @param name for example `instance shard0`; its file has a number as well, so that each instance has its own
   */
  open(name: string): { write(line: string): void } {
    this.#opened += 1;
    const file = `${name.replaceAll(/\W+/g, '-')}-${this.#opened}.log`;
    return { write: (line) => this.#write(file, line) };
  }

  /** Drops all lines so far. */
  clear(): void {
    this.#lines.clear();
  }

  /** @returns the folder that the logs are in now, undefined where nothing was written */
  keep(): string | undefined {
    if (this.#lines.size === 0) return undefined;
    const folder = mkdtempSync(join(tmpdir(), 'convoy-logs-'));
    for (const [file, lines] of this.#lines) writeFileSync(join(folder, file), lines.join(''));
    return folder;
  }

  #write(file: string, line: string): void {
    const lines = this.#lines.get(file) ?? [];
    this.#lines.set(file, lines);
    lines.push(line);
    if (lines.length > linesMax) lines.shift();
  }
}

/** Those of the test that runs. */
export const processLogs = new ProcessLogs();
