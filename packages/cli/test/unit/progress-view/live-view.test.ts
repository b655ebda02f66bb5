import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { FleetInstance } from '@convoy/api/contract/fleet-progress';
import { idleProgress } from '@convoy/api/contract/progress';
import { LiveView } from '@convoy/cli/progress-view/live-view';

class Terminal {
  readonly isTTY = true;
  written: string[] = [];

  constructor(
    public columns: number | undefined,
    public rows: number | undefined,
  ) {}

  write(text: string): boolean {
    this.written.push(text);
    return true;
  }

  /** The lines of the last write, without control sequences. */
  get lines(): string[] {
    return stripVTControlCharacters(this.written.at(-1) ?? '')
      .trimEnd()
      .split('\n');
  }
}

const progress = idleProgress();
const instance: FleetInstance = {
  id: 'shard0',
  state: null,
  reachable: false,
  estimatedCopiedBytes: null,
  copyBytesPerSecond: null,
  eventsPerSecond: null,
  totalEventsApplied: null,
  lagTimeSeconds: null,
  error: null,
} as FleetInstance;
const footer = 'Next: a long line of text that no narrow terminal can show as a whole in one of its rows';

describe('the live view', () => {
  test.each([
    [20, 19],
    [1, 1],
    [0, 79],
    [undefined, 79],
  ])('with %s columns writes at most %i characters per line', (columns, longest) => {
    const terminal = new Terminal(columns, 24);
    new LiveView(terminal).show(progress, { footer });
    expect(Math.max(...terminal.lines.map((line) => line.length))).toBe(longest);
  });

  test('never draws more rows than the terminal has', () => {
    const terminal = new Terminal(80, 2);
    const view = new LiveView(terminal);
    view.show(progress, { title: 'Title', footer });
    expect(terminal.lines).toEqual(['Title']);
    view.show(progress, { title: 'Title', footer });
    expect(terminal.written.at(-1)).toContain('\u001b[1A');
  });

  test('counts the rows of lines that a narrower terminal has wrapped', () => {
    const terminal = new Terminal(80, 24);
    const view = new LiveView(terminal);
    view.show(progress, { footer });
    terminal.columns = 40;
    view.show(progress, { footer });
    expect(terminal.written.at(-1)?.startsWith('\u001b[4A')).toBe(true);
  });

  test('wraps what is longer than the terminal, and shows the next step whatever has no room', () => {
    const terminal = new Terminal(40, 8);
    const instances = Array.from({ length: 20 }, (_, at) => ({ ...instance, id: `shard${at}` }));
    const warnings = [{ name: 'retrying', description: 'The destination cannot be reached for 40 s.' }];
    new LiveView(terminal).show({ ...progress, instances, warnings }, { footer: 'Next: Check it.' });
    expect(terminal.lines).toEqual([
      'IDLE',
      '! retrying: The destination cannot be',
      '    reached for 40 s.',
      '  shard0  no heartbeat',
      '  shard1  no heartbeat',
      '  shard2  no heartbeat',
      'Next: Check it.',
    ]);
  });
});
